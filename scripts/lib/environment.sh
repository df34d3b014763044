# Sourced by the scripts: makes the virtual environment, installs the project into it, or finds both done.
#
#   ensure_environment runtime    what deskshell needs to run
#   ensure_environment dev        and what its tests and checks need
#
# Sets `root` (the checkout) and `venv` ($DESKSHELL_VENV, else .venv in the checkout). Needs Python 3.11 or newer, which
# $PYTHON may name; nothing is written outside of `venv`, the temporary folder and pip's own cache.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
venv=${DESKSHELL_VENV:-$root/.venv}

fail() { # message, hint
    printf 'error: %s\n' "$1" >&2
    [ -z "${2:-}" ] || printf 'hint: %s\n' "$2" >&2
    exit 2
}

find_python() { # prints the first Python that is new enough and that this user may run
    local candidate
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.14 python3.13 python3.12 python3.11 python /usr/bin/python3; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            command -v "$candidate"
            return
        fi
    done
    fail "no Python 3.11 or newer found" "install one, or name it: PYTHON=/path/to/python3 $0"
}

make_venv() {
    local python
    python=$(find_python) || exit 2
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        fail "$python comes without venv or ensurepip" "on Debian and Ubuntu: apt-get install python3-venv"
    # --clear below empties the folder: make sure that it is one of ours to empty.
    [ ! -e "$venv" ] || [ -f "$venv/pyvenv.cfg" ] || [ -z "$(ls -A "$venv")" ] ||
        fail "$venv is not empty and no virtual environment" "name another folder: DESKSHELL_VENV=/path $0"
    echo "making $venv with $("$python" --version)"
    "$python" -m venv --clear "$venv" || fail "could not make $venv" "name another folder: DESKSHELL_VENV=/path $0"
}

stamp_value() { # what an install depends on: if one of these changes, it is done again
    "$venv/bin/python" -c '
import hashlib, pathlib, sys
data = pathlib.Path(sys.argv[1], "pyproject.toml").read_bytes()
print(hashlib.sha256(data).hexdigest(), sys.version.split()[0], sys.argv[1])' "$root"
}

is_installed() { # runtime|dev: an install for the tests does for running as well
    local value stamp
    value=$(stamp_value 2>/dev/null) || return 1
    for stamp in dev "$1"; do
        if [ "$(cat "$venv/deskshell-$stamp.stamp" 2>/dev/null)" = "$value" ]; then
            # From outside of the checkout, where only an installed deskshell can be imported.
            (cd / && "$venv/bin/python" -c 'import deskshell') >/dev/null 2>&1 && return 0
        fi
    done
    return 1
}

ensure_environment() {
    local what=$1 target=$root
    ! is_installed "$what" || return 0
    # Also made anew when it is there but does not work: its Python was updated away, or the folder was moved.
    "$venv/bin/python" -m pip --version >/dev/null 2>&1 || make_venv
    [ "$what" = runtime ] || target="$root[dev,mcp]"
    echo "installing deskshell and what it needs into $venv (once; a minute or so)"
    rm -f "$venv"/deskshell-*.stamp
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$target" ||
        fail "pip could not install the project" "its message above says why; it needs a package index it can reach"
    stamp_value >"$venv/deskshell-$what.stamp"
}
