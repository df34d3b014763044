"""Folders opened by path: only inside the roots, never through a link, never into a state folder."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deskshell.errors import Conflict, ScopeError
from deskshell.files import moving, syscalls
from deskshell.files.identity import identity, stat_path
from deskshell.files.scope import Places
from tests.files.conftest import in_own_mounts
from tests.support.leftovers import Leftovers, left_since
from tests.support.privileges import as_normal_user
from tests.support.trees import make_files

Open = Callable[..., Places]


@pytest.fixture(params=["openat2", "by component"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each test runs with openat2, and as on a system without it."""
    if request.param == "by component":
        monkeypatch.setattr(syscalls, "openat2", lambda *args: -errno.ENOSYS)
    return str(request.param)


@pytest.fixture
def top(folder: Path, way: str) -> bytes:
    """The folder as it is really called."""
    return os.path.realpath(os.fsencode(folder))


@pytest.fixture
def places() -> Iterator[Open]:
    """`places(*roots, …)`: `Places` closed when the test ends."""
    made: list[Places] = []

    def make(*roots: bytes, **options: object) -> Places:
        made.append(Places(roots, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for each in made:
        each.close()


def content(place: tuple[int, bytes]) -> str:
    """What is in the file that `Places.at` leads to."""
    with open(os.open(place[1], os.O_RDONLY, dir_fd=place[0])) as file:
        return file.read()


def test_a_path_inside_a_root_is_its_open_parent_and_its_name(folder: Path, top: bytes, places: Open) -> None:
    make_files(folder, {"a/b/f": "deep", "f": "shallow"})
    granted = places(top)

    assert content(granted.at(top + b"/a/b/f")) == "deep"
    assert content(granted.at(top + b"/f")) == "shallow"
    assert granted.at(top + b"/a/b/new")[1] == b"new"
    assert os.path.samestat(os.fstat(granted.folder_fd(top + b"/a")), os.stat(folder / "a"))
    assert os.path.samestat(os.fstat(granted.folder_fd(top)), os.stat(folder))


def test_a_parent_is_opened_once(folder: Path, top: bytes, places: Open) -> None:
    granted = places(top)

    assert granted.at(top + b"/x")[0] == granted.at(top + b"/y")[0] == granted.folder_fd(top)


@pytest.mark.parametrize(
    "path",
    [
        b"",
        b"/..",
        b"/../other/f",
        b"/./f",
        b"//f",
        b"/sub/../f",
        b"/sub//f",
        b"/sub/./f",
        b"/",
        b"/.",
        b"/sub/..",
    ],
)
def test_a_path_that_is_not_resolved_is_refused(folder: Path, top: bytes, places: Open, path: bytes) -> None:
    make_files(folder, {"root/sub/": None, "root/f": "x", "other/f": "x"})
    granted = places(top + b"/root")

    if path == b"":
        return  # the root itself, see below
    with pytest.raises(ScopeError):
        granted.at(top + b"/root" + path)


def test_a_path_outside_every_root_is_refused(folder: Path, top: bytes, places: Open) -> None:
    make_files(folder, {"allowed/f": "x", "allowed_evil/f": "x", "f": "x"})
    granted = places(top + b"/allowed")

    for outside in (b"/allowed_evil/f", b"/allowed_evil", b"/f", b"/allowe"):
        with pytest.raises(ScopeError, match="outside every granted scope"):
            granted.at(top + outside)
    for outside in (b"/allowed_evil", b"", b"/allowe"):
        with pytest.raises(ScopeError, match="outside every granted scope"):
            granted.folder_fd(top + outside)
    with pytest.raises(ScopeError):
        granted.at(b"relative/path")


def test_a_root_s_own_name_is_granted_without_its_siblings(folder: Path, top: bytes, places: Open) -> None:
    """So that a task may remove or make the folder it was given."""
    make_files(folder, {"root/f": "x", "sibling": "y"})
    granted = places(top + b"/root")

    parent, name = granted.at(top + b"/root")

    assert name == b"root"
    assert os.path.samestat(os.fstat(parent), os.stat(folder))
    granted.recheck(top + b"/root")
    with pytest.raises(ScopeError):
        granted.at(top + b"/sibling")


def test_a_single_file_can_be_a_root(folder: Path, top: bytes, places: Open) -> None:
    make_files(folder, {"f": "x", "g": "y"})
    granted = places(top + b"/f")

    assert content(granted.at(top + b"/f")) == "x"
    with pytest.raises(ScopeError):
        granted.at(top + b"/g")
    with pytest.raises(ScopeError):
        granted.folder_fd(top)


def test_a_root_that_does_not_exist_yet_is_opened_once_it_does(
    folder: Path, top: bytes, places: Open
) -> None:
    granted = places(top + b"/new/deeper")
    assert [(a.root, a.path) for a in granted.anchors] == [(top + b"/new/deeper", top)]

    with pytest.raises(FileNotFoundError):
        granted.at(top + b"/new/deeper/f")
    with pytest.raises(FileNotFoundError):
        granted.at(top + b"/new/deeper")
    with pytest.raises(ScopeError):
        granted.at(top + b"/other")
    make_files(folder, {"new/deeper/f": "x"})

    assert content(granted.at(top + b"/new/deeper/f")) == "x"
    assert granted.at(top + b"/new/deeper")[1] == b"deeper"


def test_the_whole_file_system_can_be_a_root(folder: Path, top: bytes, places: Open) -> None:
    make_files(folder, {"f": "x"})
    granted = places(b"/")

    assert content(granted.at(top + b"/f")) == "x"
    assert granted.at(b"/etc")[1] == b"etc"
    granted.recheck(b"/etc")
    granted.recheck(top + b"/f")
    assert os.path.samestat(os.fstat(granted.folder_fd(b"/")), os.stat("/"))
    with pytest.raises(ScopeError):
        granted.at(b"/")


@pytest.mark.parametrize("planted", ["a", "a/b", "a/b/c"])
@pytest.mark.parametrize("target", ["absolute", "relative", "dangling", "inside"])
def test_a_link_planted_in_any_component_is_not_followed(
    folder: Path, top: bytes, places: Open, planted: str, target: str
) -> None:
    make_files(folder, {"root/a/b/c/f": "mine", "root/inside/b/c/f": "mine", "outside/b/c/f": "theirs"})
    granted = places(top + b"/root")
    victim = folder / "root" / planted
    victim.rename(folder / "moved")
    leads_to = {
        "absolute": folder / "outside",
        "relative": "../" * planted.count("/") + "../outside",
        "dangling": "nowhere",
        "inside": folder / "root" / "inside",
    }
    victim.symlink_to(leads_to[target])

    with pytest.raises(Conflict) as caught:
        granted.at(top + b"/root/a/b/c/f")

    assert caught.value.message == f"`{victim}` is a link, which is not followed"
    with pytest.raises(Conflict):
        granted.folder_fd(top + b"/root/a/b/c")


def test_a_last_name_that_is_a_link_is_the_link(folder: Path, top: bytes, places: Open) -> None:
    make_files(folder, {"l": ("->", "/etc")})

    parent, name = places(top).at(top + b"/l")

    assert os.readlink(name, dir_fd=parent) == b"/etc"


def test_a_link_on_the_way_to_a_root_is_not_followed(folder: Path, top: bytes, places: Open) -> None:
    """Roots are resolved when the plan is made: a link there now was put there since."""
    make_files(folder, {"real/root/": None, "link": ("->", "real")})

    with pytest.raises(Conflict, match="link` is a link"):
        places(top + b"/link/root")
    assert places(top + b"/link").at(top + b"/link")[1] == b"link"  # a root that is a link: the link itself
    with pytest.raises(Conflict, match="link` is a link"):
        places(top + b"/link").at(top + b"/link/f")


def test_a_file_on_the_way_is_a_conflict_and_a_missing_folder_is_missing(
    folder: Path, top: bytes, places: Open
) -> None:
    make_files(folder, {"f": "x", "d/": None})
    granted = places(top)

    with pytest.raises(Conflict, match="f` is a file, not a folder"):
        granted.at(top + b"/f/below")
    with pytest.raises(Conflict, match="f` is a file, not a folder"):
        granted.at(top + b"/f/below/deeper")
    with pytest.raises(FileNotFoundError) as caught:
        granted.at(top + b"/d/missing/f")
    assert caught.value.filename == top + b"/d/missing"


def test_a_link_swapped_in_while_paths_are_opened_is_never_followed(
    folder: Path, top: bytes, places: Open
) -> None:
    """A component is looked at and opened in one step, so there is no moment in between."""
    make_files(folder, {"root/d/e/f": "mine", "swap": ("->", "outside"), "outside/e/f": "theirs"})
    fd = os.open(folder, os.O_RDONLY)
    if not moving.can_exchange(fd):
        os.close(fd)
        pytest.skip("this file system cannot exchange two names in one step")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            moving.exchange(fd, b"root/d", fd, b"swap")

    swapper = threading.Thread(target=swap)
    swapper.start()
    outcomes = set()
    try:
        for _ in range(3000):
            granted = places(top + b"/root")
            try:
                outcomes.add(content(granted.at(top + b"/root/d/e/f")))
            except (Conflict, FileNotFoundError):
                outcomes.add("refused")
            granted.close()
    finally:
        stop.set()
        swapper.join()
        os.close(fd)

    assert outcomes <= {"mine", "refused"}


def test_a_parent_moved_away_is_noticed_right_before_acting(folder: Path, top: bytes, places: Open) -> None:
    """A descriptor goes on working wherever its folder went."""
    make_files(folder, {"root/d/f": "x", "outside/": None})
    granted = places(top + b"/root")
    path = top + b"/root/d/f"
    granted.at(path)
    granted.recheck(path)

    (folder / "root" / "d").rename(folder / "outside" / "d")

    with pytest.raises(Conflict, match="d` was moved or replaced"):
        granted.recheck(path)


@pytest.mark.parametrize("put", ["folder", "link to it", "file"])
def test_a_parent_that_was_replaced_is_noticed(folder: Path, top: bytes, places: Open, put: str) -> None:
    make_files(folder, {"root/d/e/f": "x", "outside/": None})
    granted = places(top + b"/root")
    path = top + b"/root/d/e/f"
    granted.at(path)
    (folder / "root" / "d").rename(folder / "outside" / "d")
    if put == "folder":
        make_files(folder, {"root/d/e/f": "x"})
    elif put == "file":
        make_files(folder, {"root/d": "x"})
    else:  # the path leads to the very same folder, but by way of the outside
        (folder / "root" / "d").symlink_to(folder / "outside" / "d")

    with pytest.raises(Conflict, match="e` was moved or replaced"):
        granted.recheck(path)


def test_an_anchor_moved_away_is_noticed(folder: Path, top: bytes, places: Open) -> None:
    make_files(folder, {"root/f": "x"})
    granted = places(top + b"/root")
    granted.at(top + b"/root/f")
    (folder / "root").rename(folder / "elsewhere")

    with pytest.raises(Conflict, match="root` was moved or replaced"):
        granted.recheck(top + b"/root/f")


def test_the_anchors_tell_what_was_opened(folder: Path, top: bytes, places: Open) -> None:
    """A plan records them, and is refused when they are others later."""
    make_files(folder, {"root/": None, "file": "x"})
    granted = places(top + b"/root", top + b"/file", top + b"/missing/x")

    found = [(anchor.root, anchor.path, anchor.identity) for anchor in granted.anchors]
    here, root = stat_path(top), stat_path(top + b"/root")
    assert here is not None
    assert root is not None
    assert found == [
        (top + b"/root", top + b"/root", identity(root)),
        (top + b"/file", top, identity(here)),
        (top + b"/missing/x", top, identity(here)),
    ]


def test_what_the_caller_renamed_itself_is_no_conflict(folder: Path, top: bytes, places: Open) -> None:
    """A task that moves a folder away and makes a new one under its name did all of that itself."""
    make_files(folder, {"root/d/e/f": "old", "root/d2/e/f": "other"})
    granted = places(top + b"/root")
    path = top + b"/root/d/e/f"
    assert content(granted.at(path)) == "old"
    other = granted.at(top + b"/root/d2/e/f")[0]

    (folder / "root" / "d").rename(folder / "root" / "moved")
    granted.forget(top + b"/root/d")
    with pytest.raises(FileNotFoundError):
        granted.at(path)
    make_files(folder, {"root/d/e/f": "new"})

    granted.recheck(path)
    assert content(granted.at(path)) == "new"
    assert content(granted.at(top + b"/root/moved/e/f")) == "old"
    assert granted.at(top + b"/root/d2/e/f")[0] == other  # a name that only begins alike stays open


def test_a_root_that_the_caller_renamed_itself_is_anchored_anew(
    folder: Path, top: bytes, places: Open
) -> None:
    make_files(folder, {"root/sub/f": "old"})
    granted = places(top + b"/root", top + b"/root/sub")
    granted.at(top + b"/root/sub/f")

    (folder / "root").rename(folder / "held")
    granted.forget(top + b"/root")
    with pytest.raises(FileNotFoundError):
        granted.at(top + b"/root/sub/f")
    make_files(folder, {"root/sub/f": "new"})

    granted.recheck(top + b"/root/sub/f")
    assert content(granted.at(top + b"/root/sub/f")) == "new"
    with pytest.raises(ScopeError):
        granted.at(top + b"/held/sub/f")


def test_forgetting_what_was_never_open_changes_nothing(folder: Path, top: bytes, places: Open) -> None:
    granted = places(top)
    first = granted.at(top + b"/f")[0]

    granted.forget(top + b"/f")
    granted.forget(top + b"/other/f")

    assert granted.at(top + b"/f")[0] == first


# --- state folders ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exists", [True, False])
def test_a_state_folder_is_refused_at_above_and_below_itself(
    folder: Path, top: bytes, places: Open, exists: bool
) -> None:
    make_files(folder, {"root/share/apps/": None, "root/other/": None})
    if exists:
        make_files(folder, {"root/share/state/held/": None, "root/share/state/journal": ""})
    granted = places(top + b"/root", forbidden=[top + b"/root/share/state"])

    for refused in (b"/state", b"/state/journal", b"/state/held/x", b""):
        if not exists and refused.startswith(b"/state/"):
            continue  # there is no parent to open
        with pytest.raises(ScopeError, match="own state folder"):
            granted.at(top + b"/root/share" + refused)
    with pytest.raises(ScopeError, match="own state folder"):
        granted.at(top + b"/root")
    for allowed in (b"/share/apps", b"/share/apps/x", b"/share/state_of_affairs", b"/other", b"/other/x"):
        granted.at(top + b"/root" + allowed)


def test_a_state_folder_under_another_name_is_refused(folder: Path, top: bytes, places: Open) -> None:
    """By identity: it was renamed, and the name that was forbidden leads nowhere any more."""
    make_files(folder, {"a/state/held/": None, "b/": None})
    granted = places(top, forbidden=[top + b"/a/state"])
    (folder / "a" / "state").rename(folder / "b" / "new-name")

    for refused in (b"/b/new-name/x", b"/b/new-name/held/x"):
        with pytest.raises(ScopeError, match="own state folder"):
            granted.at(top + refused)
    with pytest.raises(ScopeError, match="own state folder"):
        granted.at(top + b"/a/state")


def test_a_state_folder_may_be_named_through_a_link(folder: Path, top: bytes, places: Open) -> None:
    make_files(folder, {"real/state/": None, "link": ("->", "real")})
    granted = places(top, forbidden=[top + b"/link/state"])

    with pytest.raises(ScopeError, match="own state folder"):
        granted.at(top + b"/real/state")


@pytest.mark.root
def test_a_state_folder_seen_through_a_bind_mount_is_refused(folder: Path) -> None:
    top = os.path.realpath(os.fsencode(folder))

    def trial() -> list[str]:
        make_files(folder, {"home/state/held/": None, "home/work/": None, "mnt/": None})
        assert os.system(f"mount --bind {folder}/home {folder}/mnt") == 0
        answers = []
        with Places([top], forbidden=[top + b"/home/state"]) as granted:
            for path in (b"/mnt/state", b"/mnt/state/x", b"/mnt/state/held/x", b"/mnt", b"/mnt/work/x"):
                try:
                    granted.at(top + path)
                    answers.append("allowed")
                except ScopeError:
                    answers.append("refused")
        return answers

    assert in_own_mounts(trial) == ["refused", "refused", "refused", "refused", "allowed"]


# --- mounts and permissions -------------------------------------------------------------------------------------


@pytest.mark.root
def test_only_the_recorded_mounts_are_entered(folder: Path) -> None:
    top = os.path.realpath(os.fsencode(folder))

    def trial() -> tuple[bool, str, str]:
        make_files(folder, {"m/": None, "d/": None})
        with Places([top]) as before:
            recorded = before.mount_of(top + b"/d/x")
        assert os.system(f"mount -t tmpfs none {folder}/m") == 0
        with Places([top]) as anywhere, Places([top], mounts={recorded}) as strict:
            differ = anywhere.mount_of(top + b"/m/x") != anywhere.mount_of(top + b"/d/x") == recorded
            strict.at(top + b"/d/x")
            strict.at(top + b"/m")  # the mount point's own name lies outside of it
            answers = []
            for call in (strict.at, strict.mount_of):
                with pytest.raises(Conflict) as caught:
                    call(top + b"/m/x")
                answers.append(caught.value.message)
        return differ, answers[0].replace(str(folder), ""), answers[1].replace(str(folder), "")

    message = "`/m` lies on a mount that the plan did not record"
    assert in_own_mounts(trial) == (True, message, message)


def test_a_folder_that_may_only_be_entered_still_serves_for_renames(normal_folder: Path, way: str) -> None:
    top = os.path.realpath(os.fsencode(normal_folder))

    def trial() -> tuple[list[str], bool]:
        make_files(normal_folder, {"drop/in/f": "x", "to/": None})
        (normal_folder / "drop" / "in").chmod(0o300)
        (normal_folder / "drop").chmod(0o300)
        with Places([top]) as granted:
            source, name = granted.at(top + b"/drop/in/f")
            target, _ = granted.at(top + b"/to/f")
            moving.rename(source, name, target, b"f")
            granted.recheck(top + b"/drop/in/f")
            synced = moving.sync_folder(source)
        return os.listdir(normal_folder / "to"), synced

    assert as_normal_user(trial) == (["f"], False)


def test_a_folder_that_may_not_be_searched_is_refused_by_the_system(normal_folder: Path, way: str) -> None:
    top = os.path.realpath(os.fsencode(normal_folder))

    def trial() -> bool:
        make_files(normal_folder, {"closed/in/f": "x"})
        (normal_folder / "closed").chmod(0o600)
        with Places([top]) as granted:
            try:
                granted.at(top + b"/closed/in/f")
            except PermissionError:
                return True
        return False

    assert as_normal_user(trial) is True


# --- descriptors ------------------------------------------------------------------------------------------------


def test_few_descriptors_stay_open_however_many_folders_were_used(
    folder: Path, top: bytes, places: Open
) -> None:
    make_files(folder, {f"{n}/f": str(n) for n in range(600)})
    granted = places(top)
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(2):
        for n in range(600):
            assert content(granted.at(top + b"/%d/f" % n)) == str(n)

    assert len(os.listdir("/proc/self/fd")) - before <= 256


def test_the_most_recently_used_folders_stay_open(folder: Path, top: bytes, places: Open) -> None:
    """A move uses two at once: opening the second must not close the first."""
    make_files(folder, {f"{n}/f": str(n) for n in range(300)})
    granted = places(top)
    first, _ = granted.at(top + b"/0/f")
    for n in range(1, 300):
        granted.at(top + b"/%d/f" % n)
        assert granted.at(top + b"/0/f")[0] == first

    assert content((first, b"f")) == "0"


def test_closing_leaves_nothing_open_and_may_be_repeated(folder: Path, top: bytes) -> None:
    make_files(folder, {"root/a/": None, "file": "x"})
    before = Leftovers.now()
    with Places([top + b"/root", top + b"/file"], forbidden=[top + b"/state"]) as granted:
        granted.at(top + b"/root/a/x")
        granted.at(top + b"/root")
        granted.close()
    assert left_since(before) == []


def test_a_refused_folder_leaves_nothing_open(folder: Path, top: bytes, places: Open) -> None:
    make_files(folder, {"state/held/": None, "f": "x", "l": ("->", "/")})
    granted = places(top, forbidden=[top + b"/state"], mounts={-1})
    before = Leftovers.now()

    for path in (b"/state/held/x", b"/f/x", b"/l/x", b"/missing/x", b"/x"):
        with pytest.raises((ScopeError, Conflict, FileNotFoundError)):
            granted.at(top + path)
    with pytest.raises(Conflict):
        Places([top + b"/f", top + b"/l/etc"])

    assert left_since(before) == []


def test_paths_longer_than_the_system_takes_at_once_are_opened(deep: Path, way: str, places: Open) -> None:
    top = os.path.realpath(os.fsencode(deep))
    here = os.open(deep, os.O_RDONLY)
    for _ in range(20):
        os.mkdir(b"n" * 250, dir_fd=here)
        below = os.open(b"n" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    granted = places(top, forbidden=[top + b"/state"])
    path = top + (b"/" + b"n" * 250) * 20 + b"/f"

    parent, name = granted.at(path)
    granted.recheck(path)

    assert (os.path.samestat(os.fstat(parent), os.fstat(here)), name) == (True, b"f")
    os.close(here)
