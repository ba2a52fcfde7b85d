"""Compiles a program while keeping its lines and columns."""

import ast
from inspect import CO_COROUTINE
from types import CodeType

LAST = "<last>"
"""The variable for the last expression's value. No program can use this name."""
RETURN = "<return>"
"""The variable for the exception that a top-level `return` raises."""

_compile = compile
_parse = ast.parse


class TopLevelReturnError(BaseException):
    """A `return` at the top level of the program."""

    def __init__(self, value: object = None) -> None:
        super().__init__()
        self.value = value


def compile_program(source: str, file_name: str) -> CodeType:
    """The code of a program, which stores the value of a last expression under LAST. Raises SyntaxError, and anything else that
    the compiler raises."""
    tree = _parse(source, file_name)
    if tree.body:
        last = tree.body[-1]
        if isinstance(last, ast.Expr):
            target = ast.copy_location(ast.Name(LAST, ast.Store()), last.value)
            tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
    tree = _ReturnsRaise().visit(tree)
    return _compile(tree, file_name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


def is_coroutine(code: CodeType) -> bool:
    """Whether a program awaits something at its top level."""
    return code.co_flags & CO_COROUTINE != 0


class _ReturnsRaise(ast.NodeTransformer):
    """Turns a `return` outside functions into a `raise`. Everything else stays."""

    def visit_Return(self, node: ast.Return) -> ast.AST:
        value = [] if node.value is None else [node.value]
        call = ast.Call(ast.Name(RETURN, ast.Load()), value, [])
        return ast.fix_missing_locations(ast.copy_location(ast.Raise(call, None), node))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        return node
