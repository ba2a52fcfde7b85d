import { UsageError } from "../exit-code.ts";
import { clientSessionOf } from "../local-user.ts";

/**
 * Reads `--client-session`: the beginning of a conversation's name, or `current` for that of the shell.
 *
 * @throws UsageError
 */
export function readClientSession(text: string, env: Readonly<Record<string, string | undefined>>): string {
  if (text !== "current") return text;
  const session = clientSessionOf(env);
  if (session !== undefined) return session;
  throw new UsageError(
    "--client-session: no client has started this shell, so there is no current one; give its id",
  );
}
