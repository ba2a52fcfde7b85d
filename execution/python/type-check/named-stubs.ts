import type { DeclaredTool } from "../../../codegen/generated-module.ts";

/** Where a declaration of a stub begins. An overload and its function are one. */
const BEGINNING =
  /^(?=@overload|class |type |[\p{XIDS}_][\p{XIDC}]* ?[=:])|^(?<!@overload\n)(?=(?:async )?def )/mu;
const NAME = /^(?:@overload\n)?(?:class |type |(?:async )?def )?([\p{XIDS}_][\p{XIDC}]*)/u;
const WORD = /[\p{XIDS}_][\p{XIDC}]*/gu;

/** The tools that a program names, by their functions or as globals. */
export function toolsNamedIn(tools: readonly DeclaredTool[], program: string): DeclaredTool[] {
  const words = new Set(program.match(WORD));
  return tools.filter(
    ({ identifier, namespacedName }) =>
      words.has(identifier) || words.has(namespacedName.replace(/[^\p{XIDC}]/gu, "_")),
  );
}

/**
 * A module's stubs with the declarations alone that a program names, and those that they name in turn: what is read in no time,
 * however large the module is.
 *
 * @param tools those of the module that the program names.
 */
export function namedDeclarations(text: string, program: string, tools: readonly DeclaredTool[]): string {
  const blocks = text.split(BEGINNING).map((block) => ({ block, name: NAME.exec(block)?.[1] }));
  const byName = new Map<string, string[]>();
  for (const { block, name } of blocks.slice(1))
    if (name !== undefined) byName.set(name, [...(byName.get(name) ?? []), block]);
  const kept = new Set<string>();
  const left = [...(program.match(WORD) ?? []), ...tools.map(({ identifier }) => identifier)];
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (kept.has(name)) continue;
    kept.add(name);
    for (const block of byName.get(name) ?? []) left.push(...(block.match(WORD) ?? []));
  }
  return blocks
    .filter(({ name }, i) => i === 0 || name === undefined || kept.has(name))
    .map(({ block }) => block)
    .join("");
}
