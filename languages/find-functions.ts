import type { DeclaredTool } from "../codegen/generated-module.ts";
import { parseNamespacedName } from "../protocol/tool-names.ts";
import type { ModuleSource } from "./module-source.ts";
import { nearestNames } from "./nearest-names.ts";

const MAX_MODULES = 500;
const MAX_FOUND = 3;

/** The functions that a name without an import most likely means. */
export interface MeantFunctions {
  /** Whether the name is theirs, and not only like theirs. */
  isExact: boolean;
  functions: readonly DeclaredTool[];
}

/**
 * Looks in all modules for functions of a name, or for those whose names are nearest. The modules that have them count as
 * used by the program, so that a replay finds the same in the record.
 */
export async function findFunctions(name: string, source: ModuleSource): Promise<MeantFunctions> {
  const modules = source.modules().slice(0, MAX_MODULES);
  const peeked = await Promise.all(
    modules.map((module) => (source.peek ?? source.load).call(source, module)),
  );
  const tools = peeked.flatMap((module) => module?.tools.filter(({ isAvailable }) => isAvailable) ?? []);
  const exact = tools.filter((tool) => tool.identifier === name || ownName(tool) === name);
  const near = new Set(
    exact.length > 0
      ? []
      : nearestNames(
          name,
          tools.map(({ identifier }) => identifier),
        ),
  );
  const found = exact.length > 0 ? exact : tools.filter(({ identifier }) => near.has(identifier));
  const meant = found.slice(0, MAX_FOUND);
  await Promise.all([...new Set(meant.map(({ module }) => module))].map((module) => source.load(module)));
  return { isExact: exact.length > 0, functions: meant };
}

/** What a program is told that takes `result` of a value that is no longer wrapped in it. */
export function describeUnwrapped(identifier: string): string {
  return `${identifier} returns the value itself, which its server wraps as {result: ...}: leave out the 'result'`;
}

const TAKES_RESULT = /\.result\b(?!\s*\()|\[\s*["']result["']\s*\]|\{[^{}]*\bresult\b[^{}]*\}\s*=\s*await\b/;

/** Advice for a failed program that takes `result` of what a tool returned without it; `undefined` where it does not. */
export async function adviseOnUnwrapped(code: string, source: ModuleSource): Promise<string | undefined> {
  if (!TAKES_RESULT.test(code)) return undefined;
  for (const module of source.modules().slice(0, MAX_MODULES)) {
    if (!code.includes(module)) continue;
    const { tools } = (await source.load(module)) ?? { tools: [] };
    const named = tools.find(
      ({ isUnwrapped, isAvailable, identifier, namespacedName }) =>
        isUnwrapped && isAvailable && (code.includes(identifier) || code.includes(namespacedName)),
    );
    if (named !== undefined) return describeUnwrapped(named.identifier);
  }
  return undefined;
}

/** Whether there is a tool of this namespaced name, which programs may be forbidden to call. */
export async function isTool(name: string, source: ModuleSource): Promise<boolean> {
  const { module } = parseNamespacedName(name) ?? {};
  if (module === undefined || !source.modules().includes(module)) return false;
  const { tools } = (await source.load(module)) ?? { tools: [] };
  return tools.some(({ namespacedName }) => namespacedName === name);
}

function ownName({ namespacedName }: DeclaredTool): string | undefined {
  return parseNamespacedName(namespacedName)?.tool;
}
