import type { Program } from "../../program.ts";
import { findTopLevelNames } from "./top-level-names.ts";

/** Types at the top level, which begin a line there. What is read here by mistake is a name that nobody uses. */
const TYPES = /^(?:export[ \t]+)?(?:declare[ \t]+)?(?:interface|type)[ \t]+([A-Za-z_$][\w$]*)/gm;
/** More text than this of a session is not checked again for the types of its names. */
const MAX_CHARS = 512 * 1024;

interface Declared {
  name: string;
  /** The earlier program that has declared it, from 0. */
  program: number;
  kind: "constant" | "variable" | "type";
}

/**
 * Has a program find the top level names of earlier ones, with their types: each earlier program is a module that exports its
 * names, and what is put behind a program imports those that it does not declare itself.
 */
export async function declareEarlier(
  program: Program,
  earlier: readonly Program[],
): Promise<{ behind: string; session: string[] }> {
  const isLong = earlier.reduce((sum, { code }) => sum + code.length, 0) > MAX_CHARS;
  const known = new Map<string, Declared>();
  const session: string[] = [];
  for (const [index, each] of earlier.entries()) {
    const own = await namesOf(each, index);
    const visible = renderImports(known, own, isLong);
    const exported = own.filter(({ name }) => !isExported(name, each.code)).map(({ name }) => name);
    session.push(isLong ? "export {};" : `${each.code}\n${visible}export { ${exported.join(", ")} };\n`);
    for (const declared of own) known.set(declared.name, declared);
  }
  const own = await namesOf(program, earlier.length);
  return { behind: `\n${renderImports(known, own, isLong)}`, session };
}

async function namesOf(program: Program, index: number): Promise<Declared[]> {
  const { declared, imported } = await findTopLevelNames(program);
  const types = [...program.code.matchAll(TYPES)].map(([, name = ""]) => name);
  const values = [
    ...declared.map(({ name, isAssignable }): Declared => {
      const isVariable = isAssignable && isPlainVariable(name, program.code);
      return { name, program: index, kind: isVariable ? "variable" : "constant" };
    }),
    ...imported.map(({ name }): Declared => ({ name, program: index, kind: "constant" })),
  ];
  const isValue = new Set(values.map(({ name }) => name));
  return [
    ...values,
    ...types
      .filter((name) => !isValue.has(name))
      .map((name): Declared => ({ name, program: index, kind: "type" })),
  ];
}

/** Functions and classes may be assigned too, and are types of their own: hardly anybody does. */
function isPlainVariable(name: string, code: string): boolean {
  const escaped = name.replaceAll("$", String.raw`\$`);
  return !new RegExp(String.raw`\b(?:function\s*\*?|class|enum|namespace)\s+${escaped}(?![\w$])`).test(code);
}

function isExported(name: string, code: string): boolean {
  const escaped = name.replaceAll("$", String.raw`\$`);
  const words = "const|let|var|class|interface|type|enum|(?:async\\s+)?function\\s*\\*?";
  return new RegExp(String.raw`^export\s+(?:${words})\s+${escaped}(?![\w$])`, "m").test(code);
}

function renderImports(
  known: ReadonlyMap<string, Declared>,
  own: readonly Declared[],
  isLong: boolean,
): string {
  const hidden = new Set(own.map(({ name }) => name));
  return [...known.values()]
    .filter(({ name }) => !hidden.has(name))
    .map(({ name, program, kind }) => {
      const module = `./session-${program}.js`;
      if (isLong) return kind === "type" ? `type ${name} = any;\n` : `declare let ${name}: any;\n`;
      // What is imported cannot be assigned.
      return kind === "variable"
        ? `declare let ${name}: typeof import("${module}").${name};\n`
        : `import { ${name} } from "${module}";\n`;
    })
    .join("");
}
