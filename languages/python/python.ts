import type { EndedProgram, Language } from "../language.ts";
import type { ModuleSource } from "../module-source.ts";
import { nameServers } from "../name-servers.ts";
import type { Program } from "../program.ts";
import { advisePythonFailure } from "./advice/python-failures.ts";
import { blankTexts } from "./blank-text.ts";
import { preparePython } from "./prepare-python.ts";
import { PYTHON_FACTS } from "./python-facts.ts";
import type { PythonParts } from "./python-parts.ts";
import { looksLikePython, mayBePython } from "./python-signs.ts";

/** Programs in Python: sent as they are written, with a table of names, and checked in a process of its own. */
export function createPython(parts: PythonParts): Language {
  return {
    ...PYTHON_FACTS,
    looksLike: looksLikePython,
    accepts: async (code) => mayBePython(code),
    prepare: (program, modules, mode, onPhase, earlier) =>
      preparePython(program, modules, parts, mode, onPhase, earlier),
    advise: async (program, ended, modules) =>
      ended.ok
        ? advisePythonSuccess(program, ended, modules)
        : advisePythonFailure(ended.error, program, modules).catch(() => []),
    warm: () => parts.checker.warm(),
    close: () => parts.checker.close(),
  };
}

/** Longer programs mostly carry data, and are not looked into. */
const MAX_CODE_CHARS = 256 * 1024;

const PENDING = /<coroutine object |<(?:Future|Task) (?:pending|finished)|<_GatheringFuture /;
const NO_NETWORK =
  /\bName or service not known\b|\bTemporary failure in name resolution\b|\bNetwork is unreachable\b/;
const NO_VALUE = "nothing was printed and no result is set";

const GIVES_NOTHING = `${NO_VALUE}: end the program with what is to come back, or print it`;

/** Advice on a program that succeeded without giving anything back, or whose value was probably lost, one line each. */
export function advisePythonSuccess(
  { code }: Program,
  { consoleText, isEmpty }: EndedProgram & { ok: true },
  modules: ModuleSource,
): string[] {
  if (PENDING.test(consoleText)) return ["a call was printed and not its value: await it first"];
  if (NO_NETWORK.test(consoleText))
    return [`a program has no network: call a tool of a server instead${nameServers(modules)}`];
  if (!isEmpty) return [];
  const advice = code.length > MAX_CODE_CHARS ? undefined : adviseOnLostValue(blankTexts(code).code);
  return [advice ?? GIVES_NOTHING];
}

/** Says how to give the value that a program seems to mean. @param code the program without its texts. */
function adviseOnLostValue(code: string): string | undefined {
  for (const { 1: isAsync, 2: name = "" } of code.matchAll(/^(async[ \t]+)?def[ \t]+(\w+)/gm)) {
    if (mentions(code, name) > 1) continue;
    const call = `${isAsync === undefined ? "" : "await "}${name}()`;
    return `${NO_VALUE}: ${name} is never called; end the program with ${call}`;
  }
  const guarded = /^if[ \t]+__name__/m.test(code);
  if (guarded) return undefined;
  const [last = ""] = code.trimEnd().split("\n").slice(-1);
  const [, assigned] = /^([A-Za-z_]\w*)[ \t]*(?::[^=]*)?=(?!=)/.exec(last) ?? [];
  if (assigned !== undefined) return `${NO_VALUE}: end the program with ${assigned}, or print it`;
  return undefined;
}

function mentions(code: string, name: string): number {
  return code.match(new RegExp(`\\b${name}\\b`, "g"))?.length ?? 0;
}
