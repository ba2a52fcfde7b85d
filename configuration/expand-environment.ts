/** `${NAME}` and `${NAME:-default}` in texts of the configuration; `$${` stands for a plain `${`. */
import type { EnvironmentVariables } from "../system/environment-variables.ts";

export type Expansion =
  | {
      ok: true;
      text: string;
      /** The texts that came from the environment. */
      values: string[];
      /** The variables that are not set and have no default, each once. In `text` they stand as they were written. */
      unset: string[];
    }
  /** The text is not in the syntax of variables. */
  | { ok: false; problem: string };

/** Variables whose values are common words or paths in output. They are not secrets; redacting them would garble text. */
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

/** Expands the variables in one text. */
export function expandEnvironment(text: string, environment: EnvironmentVariables): Expansion {
  const values: string[] = [];
  const unset = new Set<string>();
  let expanded = "";
  let rest = text;
  for (;;) {
    const at = rest.indexOf("${");
    if (at < 0) return { ok: true, text: expanded + rest, values, unset: [...unset] };
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
    let inserted = reference[0];
    if (fallback !== undefined && (value === undefined || value === "")) inserted = fallback;
    else if (value === undefined) unset.add(name);
    else {
      inserted = value;
      values.push(value);
    }
    expanded += rest.slice(0, at) + inserted;
    rest = rest.slice(at + reference[0].length);
  }
}

/** Drops empty and public values, and sorts the rest longest first, so that a secret is matched before a part of it is. */
export function distinctSecrets(values: readonly string[], environment: EnvironmentVariables): string[] {
  const open = new Set(PUBLIC_NAMES.map((name) => environment[name]));
  return [...new Set(values)]
    .filter((value) => value.trim() !== "" && !open.has(value))
    .sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
}
