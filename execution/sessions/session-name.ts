import type { Configuration } from "../../configuration/configuration.ts";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Why no program can run in a session of this name, and what to do about it, in one line; `undefined` if it can. */
export function whyNoSession(
  name: string,
  { sessions, file }: Pick<Configuration, "sessions" | "file">,
): string | undefined {
  if (sessions === undefined)
    return `sessions are off; \`sessions: true\` in ${file ?? "ptc.yaml"} turns them on`;
  if (!NAME.test(name)) return "the name of a session must be 1 to 64 letters, digits, `.`, `_` or `-`";
  return undefined;
}
