/** `${NAME}` and `${NAME:-default}` in texts of the configuration; `$${` stands for a plain `${`. */

export type Environment = Readonly<Record<string, string | undefined>>;

export type Expansion = { ok: true; text: string; values: string[] } | { ok: false; problem: string };

/** Variables whose values are written all over a machine's output. They are not secrets; to redact them would garble it. */
const PUBLIC_NAMES = [
  "HOME",
  "HOSTNAME",
  "LANG",
  "LOGNAME",
  "PATH",
  "PWD",
  "SHELL",
  "TERM",
  "TMPDIR",
  "USER",
];

const REFERENCE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/;

/** Expands one text. `values` are those that came from the environment. */
export function expandEnvironment(text: string, environment: Environment): Expansion {
  const values: string[] = [];
  let expanded = "";
  let rest = text;
  for (;;) {
    const at = rest.indexOf("${");
    if (at < 0) return { ok: true, text: expanded + rest, values };
    if (at > 0 && rest[at - 1] === "$") {
      expanded += `${rest.slice(0, at - 1)}\${`;
      rest = rest.slice(at + 2);
      continue;
    }
    const reference = REFERENCE.exec(rest.slice(at, at + 4_096));
    const name = reference?.[1];
    if (reference === null || name === undefined) {
      return {
        ok: false,
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the syntax that the message explains
        problem: "has a `${` that is not `${NAME}` or `${NAME:-default}`; write `$${` for a plain `${`",
      };
    }
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    const fallback = reference[2];
    if (value === undefined && fallback === undefined) {
      return {
        ok: false,
        problem: `\${${name}} is not set in the environment; set ${name}, or write \${${name}:-default}`,
      };
    }
    const useFallback = fallback !== undefined && (value === undefined || value === "");
    const inserted = useFallback ? fallback : (value ?? "");
    if (!useFallback) values.push(inserted);
    expanded += rest.slice(0, at) + inserted;
    rest = rest.slice(at + reference[0].length);
  }
}

/** Drops what is empty or public, and puts longer values first, so that no secret hides behind a part of itself. */
export function distinctSecrets(values: readonly string[], environment: Environment): string[] {
  const open = new Set(PUBLIC_NAMES.map((name) => environment[name]));
  return [...new Set(values)]
    .filter((value) => value.trim() !== "" && !open.has(value))
    .sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
}
