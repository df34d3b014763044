"""`python -m deskshell` is the same command as `deskshell`."""

from deskshell.cli.main import main

if __name__ == "__main__":
    main()
