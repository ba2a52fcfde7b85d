import { codeLines } from "./python-text.ts";

/**
 * A function of a tool can be awaited, and in a program without a word of `await` it blocks. ptc checks a program with the stubs of
 * its own way of calling; an editor has one set of stubs for all files beside ptc.yaml. So the stubs on the disk say, by a decorator,
 * that what such a function gives is either: awaited, it has its type; not awaited, it is anything.
 */

const DECORATOR = "@_either_way";
const IMPORT = "\nfrom servers import either_way_ as _either_way\n";

/** Declares the decorator. A class that derives from Any passes for any other, and what is read of it is Any. */
export const EITHER_WAY = `from collections.abc import Callable, Coroutine, Iterable
from typing import Any

class _EitherWay[T](Coroutine[Any, Any, T], Iterable[Any], Any): ...

def either_way_[**P, T](function: Callable[P, Coroutine[Any, Any, T]], /) -> Callable[P, _EitherWay[T]]: ...`;

/** Stubs for editors, of those of functions that are awaited. */
export function eitherWay(text: string): string {
  let printed = "";
  let at = 0;
  let isImported = false;
  for (const { line, start } of codeLines(text)) {
    if (!isImported) {
      printed += text.slice(at, start) + IMPORT;
      at = start;
      isImported = true;
    }
    const [, indent] = /^( *)async def /.exec(line) ?? [];
    if (indent === undefined) continue;
    printed += `${text.slice(at, start)}${indent}${DECORATOR}\n`;
    at = start;
  }
  return printed + text.slice(at);
}

/** The same stubs as they were printed: those of functions that are awaited. */
export function awaited(text: string): string {
  let read = "";
  let at = 0;
  for (const { line, start } of codeLines(text)) {
    if (line.trim() !== DECORATOR) continue;
    read += text.slice(at, start);
    at = start + line.length + 1;
  }
  return (read + text.slice(at)).replace(IMPORT, "");
}
