"""The four rooms stay at the root, are importable as `grpo_agent.*`, and import only downwards."""

import ast
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("sandboxes", "envs", "agents", "trainer")
MODULES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_link_in_the_face_points_to_the_room_at_the_root(room: str) -> None:
    link = ROOT / "grpo_agent" / room
    assert link.is_symlink()
    assert os.readlink(link) == f"../{room}"
    assert (link / "__init__.py").is_file()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_imports_only_rooms_below_its_own(path: Path) -> None:
    own = ROOMS.index(path.relative_to(ROOT).parts[0])
    upward = {room for room in imported_rooms(path) if ROOMS.index(room) > own}
    assert not upward, f"{path.relative_to(ROOT)} imports {sorted(upward)}, which lies above it"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_imports_the_package_relatively(path: Path) -> None:
    absolute = [name for name in absolute_imports(path) if name.split(".")[0] in ("grpo_agent", *ROOMS)]
    assert not absolute


def imported_rooms(path: Path) -> set[str]:
    package = ["grpo_agent", *path.relative_to(ROOT).parent.parts]
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            full = [*base, *(node.module or "").split(".")]
            names = [full[1]] if len(full) > 1 and full[1] else [alias.name for alias in node.names]
            rooms.update(name for name in names if name in ROOMS)
    return rooms


def absolute_imports(path: Path) -> list[str]:
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.append(node.module or "")
    return names
