"""The MCP server: tools over `App`, for agents. Only `deskshell mcp` imports it (the SDK takes half a second).

A tool is a plain function: the SDK runs it in a thread, and a client that times out or dies does not stop it
half-way. Whatever a tool refuses is said in words of ours; anything unexpected is masked.
"""
