"""How a function becomes a tool: strict arguments, four hints, a scope, and refusals in words of ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ConfigDict, ValidationError

from deskshell.errors import DeskshellError
from deskshell.mcp.paging import MOST_BYTES
from deskshell.mcp.service import service_of

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Facts(NamedTuple):
    title: str
    scope: str
    hints: ToolAnnotations


def tool(
    title: str,
    *,
    scope: str,
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    open_world: bool = False,
) -> Callable[[_Function], _Function]:
    """Mark a function as a tool.

    Args:
        title: for people, in a list of tools.
        scope: what a key needs for it (`app.keys.SCOPES`).
        read_only: it changes nothing.
        destructive: it may change or remove what is there.
        idempotent: a second call with the same arguments changes nothing more.
        open_world: it may reach beyond this machine.
    """
    hints = ToolAnnotations(
        title=title,
        read_only_hint=read_only,
        destructive_hint=destructive,
        idempotent_hint=idempotent,
        open_world_hint=open_world,
    )

    def mark(function: _Function) -> _Function:
        function.__dict__["_facts"] = _Facts(title, scope, hints)
        return function

    return mark


def tools_of(*modules: object) -> list[Tool]:
    """Every function of the modules that is marked as a tool, in the order of definition."""
    found: list[Tool] = []
    for module in modules:
        for function in list(vars(module).values()):
            facts = getattr(function, "__dict__", {}).get("_facts") if callable(function) else None
            if facts is not None:
                found.append(_strict(function, facts))
    return found


def _strict(function: Callable[..., Any], facts: _Facts) -> StrictTool:
    made = StrictTool.from_function(function, title=facts.title, annotations=facts.hints)
    assert isinstance(made, StrictTool)
    meta = made.fn_metadata
    base = meta.arg_model
    # The SDK's own model drops unknown names and turns "yes" into True.
    config = ConfigDict(extra="forbid", strict=True)
    meta.arg_model = type(base.__name__, (base,), {"model_config": config, "__module__": base.__module__})
    made.parameters = meta.arg_model.model_json_schema(by_alias=True)
    made.scope = facts.scope
    return made


class StrictTool(Tool):
    """A tool that refuses in our own words, before it asks or does anything.

    `scope` is what a key needs for it.
    """

    scope: str = ""

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        """Run it. Raises ToolError with a message of ours; anything unexpected is masked by the SDK."""
        caller = service_of(context).caller(context)
        if caller.scopes is not None and self.scope not in caller.scopes:
            raise ToolError(f"refused: this key may not use `{self.name}`: it has no scope `{self.scope}`")
        service_of(context).sessions.seen(caller)
        try:
            self.fn_metadata.validate_arguments(arguments)
        except ValidationError as exc:
            raise ToolError(self._arguments(exc)) from None
        try:
            result = await super().run(arguments, context, convert_result)
        except UnexpectedToolError as exc:
            if isinstance(exc.__cause__, DeskshellError):
                raise ToolError(told(exc.__cause__)) from None
            raise
        except ToolError as exc:
            if isinstance(exc.__cause__, ToolError):
                raise ToolError(str(exc.__cause__)) from None
            raise
        return _compact(result) if convert_result else result

    def _arguments(self, exc: ValidationError) -> str:
        """What is wrong with the arguments: names and reasons, never the values."""
        known = ", ".join(f"`{name}`" for name in self.fn_metadata.arg_model.model_fields) or "no arguments"
        wrong = []
        for error in exc.errors(include_input=False, include_url=False, include_context=False)[:5]:
            where = ".".join(str(part)[:40] for part in error["loc"])
            reason = "is no argument of it" if error["type"] == "extra_forbidden" else _reason(error["type"])
            wrong.append(f"`{_plain(where)}` {reason}")
        return f"refused: arguments of `{self.name}`: {'; '.join(wrong)}. It takes {known}."


_REASONS = {
    "missing": "is missing",
    "bool_type": "has to be true or false",
    "string_type": "has to be text",
    "int_type": "has to be a whole number",
    "list_type": "has to be a list",
    "dict_type": "has to be an object",
    "string_pattern_mismatch": "does not have the right form",
    "string_too_long": "is too long",
    "too_long": "is too long",
}


def _reason(kind: str) -> str:
    return _REASONS.get(kind, f"has the wrong type or form ({kind})")


def _plain(text: str) -> str:
    return "".join(char if char.isprintable() and char != "`" else "?" for char in text)


def told(exc: DeskshellError) -> str:
    """An expected failure for an agent: its code, what is so, and what to do about it."""
    text = f"{exc.code}: {exc.message}" + (f". Hint: {exc.hint}" if exc.hint else "")
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def _compact(result: CallToolResult | InputRequiredResult) -> CallToolResult | InputRequiredResult:
    """The text beside the structured answer without blanks and with plain ASCII; none may be larger than agreed."""
    if not isinstance(result, CallToolResult) or result.structured_content is None:
        return result
    text = json.dumps(result.structured_content, ensure_ascii=True, separators=(",", ":"))
    if len(text) > MOST_BYTES:
        raise ToolError("refused: the answer is too large; ask for less of it")
    content: Sequence[Any] = [TextContent(type="text", text=text)]
    return result.model_copy(update={"content": list(content)})


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


class Model(BaseModel):
    """An answer: snake_case here, camelCase for clients."""

    model_config = ConfigDict(alias_generator=_camel, validate_by_name=True, validate_by_alias=True)
