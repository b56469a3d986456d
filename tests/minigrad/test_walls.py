"""The walls of the house: demos -> transformer -> minigrad, one way; in minigrad, too, nothing knows what is above."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import minigrad as mg

ROOT = Path(mg.__file__).parent.parent
LAYERS = ("minigrad", "transformer", "demos")

# These know none of ops, checking, nn, optim, drawing and checkpoint, which stand on them.
BELOW = {
    "minigrad.errors",
    "minigrad.hooks",
    "minigrad.state",
    "minigrad.tape",
    "minigrad.registry",
    "minigrad.methods",
    "minigrad.tensor",
    "minigrad.operation",
    "minigrad.primitive",
    "minigrad.fused",
    "minigrad.backprop",
}

# The public submodules of minigrad, which other packages may name; all else they take from `minigrad` itself.
PUBLIC = {
    "minigrad.atomic",
    "minigrad.checkpoint",
    "minigrad.drawing",
    "minigrad.drawing.page",
    "minigrad.drawing.palette",
    "minigrad.errors",
    "minigrad.formulas",
    "minigrad.nn",
    "minigrad.optim",
}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for package in LAYERS for path in sorted((ROOT / package).rglob("*.py"))}


def imports(path: Path, everything: bool = True) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(module, names taken from it) of each import; without `everything`, of those that run when this is imported."""
    for node in nodes(ast.parse(path.read_text(encoding="utf-8")), everything):
        if isinstance(node, ast.Import):
            yield from ((alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            yield str(node.module), tuple(alias.name for alias in node.names)


def nodes(tree: ast.AST, everything: bool) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if not everything and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        yield node
        yield from nodes(node, everything)


def depends_on(name: str, everything: bool = True) -> set[str]:
    """The modules of this project that a module imports; `from package import module` counts as the module."""
    found = set()
    for module, names in imports(MODULES[name], everything):
        inner = {f"{module}.{taken}" for taken in names} & set(MODULES)
        found |= inner
        if module in MODULES and (not names or {f"{module}.{taken}" for taken in names} - inner):
            found.add(module)
    return found - {name}


@pytest.mark.parametrize("name", sorted(MODULES))
def test_imports_run_one_way(name):
    layer = LAYERS.index(name.split(".")[0])
    for module in depends_on(name):
        assert LAYERS.index(module.split(".")[0]) <= layer, f"{name} imports {module}"


@pytest.mark.parametrize("name", sorted(BELOW))
def test_nothing_below_imports_anything_above(name):
    assert depends_on(name) <= BELOW, f"{name} imports {depends_on(name) - BELOW}"


def test_errors_and_state_stand_on_nothing_hooks_on_errors_and_tape_on_these():
    assert depends_on("minigrad.errors") == set()
    assert depends_on("minigrad.state") == set()
    assert depends_on("minigrad.hooks") <= {"minigrad.errors"}
    assert depends_on("minigrad.tape") <= {"minigrad.errors", "minigrad.hooks"}
    assert depends_on("minigrad.registry") <= {"minigrad.state"}
    assert depends_on("minigrad.methods") <= {"minigrad.registry"}


@pytest.mark.parametrize("name", sorted(name for name in MODULES if not name.startswith("minigrad")))
def test_other_packages_use_public_names_of_minigrad_only(name):
    for module, names in imports(MODULES[name]):
        if module.split(".")[0] != "minigrad":
            continue
        assert module == "minigrad" or module in PUBLIC, f"{name} imports {module}"
        for taken in names:
            assert not taken.startswith("_"), f"{name} takes {taken} from {module}"
            offered = getattr(importlib.import_module(module), "__all__", None)
            assert offered is None or taken in offered or f"{module}.{taken}" in PUBLIC, f"{name} takes {taken}"


def private_uses(path: Path) -> Iterator[str]:
    """Attributes with a leading underscore that are asked of anything but self and cls."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                continue
            yield node.attr


INTERNAL = {"_node", "_data", "_name", "_replace"}
"""What a Tensor keeps to itself."""


@pytest.mark.parametrize("name", sorted(name for name in MODULES if not name.startswith("minigrad")))
def test_other_packages_do_not_reach_into_a_tensor(name):
    assert not INTERNAL & set(private_uses(MODULES[name]))


def test_no_circles_among_modules_as_they_are_imported():
    """`import package.module` runs the package's __init__ first; that its own modules do is how packages are built."""
    graph = {name: depends_on(name, everything=False) for name in MODULES}
    done: set[str] = set()
    for start in graph:
        path = [start]
        stack = [iter(sorted(graph[start]))]
        while stack:
            following = next(stack[-1], None)
            if following is None:
                stack.pop()
                done.add(path.pop())
            elif following in path:
                raise AssertionError(" -> ".join([*path[path.index(following) :], following]))
            elif following not in done:
                path.append(following)
                stack.append(iter(sorted(graph[following])))


def test_no_module_is_called_utils_helpers_common_misc_or_base():
    for name in MODULES:
        assert not {"utils", "helpers", "common", "misc", "base"} & set(name.split("."))


@pytest.mark.parametrize("package", ["minigrad", "transformer"])
def test_types_are_shipped(package):
    assert (ROOT / package / "py.typed").exists()
