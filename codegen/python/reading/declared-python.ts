import { codeLines } from "../python-text.ts";

const MAX_SIGNATURE_CHARS = 600;

/** How deep the dicts within arguments are spelled out. */
const MAX_LEVELS = 3;

/**
 * `name(*, owner: str, page?: int) -> {...}` of a declared function on one line, with the dicts that it names spelled out, cut
 * where it is very long.
 *
 * @param declaration the text of the function, with all its signatures.
 */
export function pythonSignature(name: string, declaration: string, moduleText: string): string {
  const forms = declaration.split("@overload\n").slice(1, -1);
  const lines = (forms.length === 0 ? [declaration] : forms).map((form) => {
    const [, parameters = "", returns = "Any"] =
      /^async def [^(]+\(([\s\S]*?)\) -> ([\p{XIDC}]+):/mu.exec(form) ?? [];
    const spelled = parameters
      .split("\n")
      .map((line) => line.trim().replace(/,$/, ""))
      .filter((line) => line !== "" && line !== "/")
      .map((line) => line.replace(/^([\p{XIDC}]+): (.*) = \.\.\.$/u, "$1?: $2"))
      .join(", ");
    return { call: `${name}(${spellOut(spelled, moduleText, MAX_LEVELS)})`, returns };
  });
  const calls = lines.map(({ call }) => call).join(" or ");
  const returns = spellOut(lines[0]?.returns ?? "Any", moduleText, MAX_LEVELS);
  if (calls.length > MAX_SIGNATURE_CHARS) return `${calls.slice(0, MAX_SIGNATURE_CHARS)}...`;
  const whole = `${calls} -> ${returns}`;
  return whole.length > MAX_SIGNATURE_CHARS ? `${calls} -> ...` : whole;
}

/** An annotation with the declarations of the names in it in their places. */
function spellOut(annotation: string, moduleText: string, levels: number): string {
  if (levels === 0 || annotation.length > 4 * MAX_SIGNATURE_CHARS) return annotation;
  return annotation.replace(/"(?:[^"\\]|\\.)*"|\b[A-Z_][\p{XIDC}]*(?![\p{XIDC}]*\??:)/gu, (word) => {
    const declared = word.startsWith('"') ? undefined : declarationOf(word, moduleText);
    return declared === undefined ? word : spellOut(declared, moduleText, levels - 1);
  });
}

/** What a type is declared as: `{key: type, other?: type}`, or another annotation. Of another name for a type, what that is declared as. */
function declarationOf(name: string, moduleText: string): string | undefined {
  const declared = declaredAs(name, moduleText);
  const isName = declared !== undefined && /^[\p{XIDC}]+$/u.test(declared);
  return isName ? (declaredAs(declared, moduleText) ?? declared) : declared;
}

function declaredAs(name: string, moduleText: string): string | undefined {
  for (const [start, end] of [
    [`\nclass ${name}(TypedDict`, /\n(?! |\n)/],
    [`\n${name} = TypedDict(`, /\n\)/],
    [`\ntype ${name} = `, /\n/],
    [`\n${name} = `, /\n/],
  ] as const) {
    const at = moduleText.indexOf(start);
    if (at < 0) continue;
    const rest = moduleText.slice(at + start.length);
    const block = rest.slice(0, end.exec(rest)?.index);
    if (start.endsWith("= ")) return block;
    return `{${entriesOf(block).join(", ")}}`;
  }
  return undefined;
}

/** The entries of a dict's declaration. Documentation is skipped. */
function entriesOf(block: string): string[] {
  const entries: string[] = [];
  for (const { line } of codeLines(block)) {
    const [, key, type = ""] =
      /^ {4}([\p{XIDC}]+): (.*)$/u.exec(line) ?? /^ {8}("(?:[^"\\]|\\.)*"): (.*),$/.exec(line) ?? [];
    if (key === undefined) continue;
    const optional = /^NotRequired\[(.*)\]$/.exec(type)?.[1];
    entries.push(optional === undefined ? `${key}: ${type}` : `${key}?: ${optional}`);
  }
  return entries;
}
