/**
 * Texts of the configuration in which `{name}` stands for the argument of that name. `{{name}}` is the text `{name}`; braces
 * around anything that is no name are plain text.
 */

/** What an argument's value is put into: a text, a value in the place of its name, or an element for each item of a list. */
export type TemplatePart = string | { readonly argument: string; readonly isSpread: boolean };
export type Template = readonly TemplatePart[];

const PLACEHOLDER = /\{\{([A-Za-z_][A-Za-z0-9_-]*)\}\}|\{([A-Za-z_][A-Za-z0-9_-]*)(\.\.\.)?\}/g;

export function parseTemplate(text: string): Template {
  const parts: TemplatePart[] = [];
  let plain = "";
  let end = 0;
  for (const found of text.matchAll(PLACEHOLDER)) {
    const [whole, literal, argument, dots] = found;
    plain += text.slice(end, found.index);
    end = found.index + whole.length;
    if (argument === undefined) plain += `{${literal}}`;
    else {
      if (plain !== "") parts.push(plain);
      plain = "";
      parts.push({ argument, isSpread: dots !== undefined });
    }
  }
  plain += text.slice(end);
  return plain === "" ? parts : [...parts, plain];
}

/** The arguments that a template names. */
export function argumentsIn(template: Template): string[] {
  return template.flatMap((part) => (typeof part === "string" ? [] : [part.argument]));
}

/** A template with the values of arguments; one that is absent leaves its place empty. */
export function fillTemplate(template: Template, args: Readonly<Record<string, unknown>>): string {
  return template
    .map((part) => (typeof part === "string" ? part : (textOf(args, part.argument) ?? "")))
    .join("");
}

/** A text as it is, anything else as JSON; `undefined` where the argument is absent. */
export function textOf(args: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = Object.hasOwn(args, name) ? args[name] : undefined;
  return typeof value === "string" ? value : JSON.stringify(value);
}
