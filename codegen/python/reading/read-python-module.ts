import type { DeclaredTool, GeneratedModule } from "../../generated-module.ts";
import { codeLines } from "../python-text.ts";
import { NOT_AVAILABLE, readToolMark } from "../tool-mark.ts";
import { pythonSignature } from "./declared-python.ts";

const FUNCTION = /^async def ([\p{XIDC}]+)\(/u;

/** A tool as a module's text declares it. */
interface FoundTool {
  mark: NonNullable<ReturnType<typeof readToolMark>>;
  identifier: string;
  start: number;
  /** The end of the mark's line, without the line end. */
  markEnd: number;
  end: number;
}

/**
 * Reads the text of a module back: as it was printed, or as it was archived, with a mark at each tool that programs may not
 * call. Takes time linear in the text.
 *
 * @param callable namespaced names of the tools that programs may call; without it, those that bear no mark.
 */
export function readPythonModule(
  module: string,
  text: string,
  callable?: ReadonlySet<string>,
): GeneratedModule {
  const found = findTools(text);
  const isAvailable = ({ mark }: FoundTool): boolean =>
    !mark.isMarked && (callable === undefined || callable.has(mark.tool));
  let archived = "";
  let at = 0;
  for (const each of found) {
    if (each.mark.isMarked || isAvailable(each)) continue;
    archived += text.slice(at, each.markEnd) + NOT_AVAILABLE;
    at = each.markEnd;
  }
  return {
    text,
    tools: found.map((each): DeclaredTool => {
      const { mark, identifier, start, end } = each;
      return {
        module,
        identifier,
        namespacedName: mark.tool,
        input: mark.input === "" ? "Any" : mark.input,
        output: returnsOf(text.slice(start, end)),
        isObserved: mark.observed !== undefined,
        isUnwrapped: mark.unwrapped === true,
        parameters: mark.parameters,
        isAvailable: isAvailable(each),
        start,
        end,
        signature: () => pythonSignature(identifier, text.slice(start, end), text),
      };
    }),
    archived: archived + text.slice(at),
  };
}

/** The tools of a text: from each mark to where the next statement begins that is no part of its function. */
function findTools(text: string): FoundTool[] {
  const found: FoundTool[] = [];
  let open: FoundTool | undefined;
  for (const { line, start } of codeLines(text)) {
    const lineEnd = start + line.length;
    const mark = readToolMark(line);
    const isPart = line === "@overload" || FUNCTION.test(line) || /^(?: |\) ->|$)/.test(line);
    if (mark !== undefined) {
      open = { mark, identifier: "", start, markEnd: lineEnd, end: lineEnd };
    } else if (open !== undefined && !isPart) {
      open = undefined;
    }
    const name = FUNCTION.exec(line)?.[1];
    if (open === undefined || name === undefined) {
      if (open !== undefined && line !== "") open.end = lineEnd;
      continue;
    }
    if (open.identifier === "") found.push(open);
    else if (open.identifier !== name) {
      open = undefined;
      continue;
    }
    open.identifier = name;
    open.end = lineEnd;
  }
  return found;
}

/** The annotation after the first parameters, which is a name. */
function returnsOf(declaration: string): string {
  return /^(?:async def .*|)\) -> ([\p{XIDC}]+):/mu.exec(declaration)?.[1] ?? "Any";
}
