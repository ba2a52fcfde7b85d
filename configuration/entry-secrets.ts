import { urlCredentialsIn } from "../secrets/redaction-secrets.ts";
import type { ServerConfiguration } from "./configuration.ts";
import { authSecrets } from "./server-auth.ts";
import { isRemote } from "./server-values.ts";

const SECRET_NAME = /auth|cookie|cred|dsn|jwt|key|pass|pat$|private|pwd|secret|session|signature|token/i;

/** The `secretsOf` a server that are most likely credentials: headers, and values whose name says so. */
export function credentialsOf(server: ServerConfiguration): string[] {
  if (!("env" in server)) return secretsOf(server);
  const named = Object.entries(server.env).flatMap(([name, value]) =>
    // The name of a local tool stands before that of its variable.
    SECRET_NAME.test(name.slice(name.indexOf("/") + 1)) ? [value] : [],
  );
  return [...named, ...argumentsWithPasswords(server)];
}

/** The values of a server's entry that may be secrets. */
export function secretsOf(server: ServerConfiguration): string[] {
  if ("env" in server) return [...Object.values(server.env), ...argumentsWithPasswords(server)];
  const headers = Object.values(server.headers);
  // In `Bearer <token>` the token alone is a secret too, because it may appear without its scheme.
  const tokens = headers.flatMap((value) => /^[A-Za-z]+ +(\S.*)$/.exec(value)?.[1] ?? []);
  return [
    ...headers,
    ...tokens,
    ...(isRemote(server) ? authSecrets(server.auth) : []).flatMap(({ secret }) =>
      typeof secret === "string" ? [secret] : [],
    ),
    ...(urlCredentialsIn(server.url).length > 0 ? [server.url] : []),
  ];
}

/** The arguments that are URLs with credentials. Others count as public: they name packages, folders and modes. */
function argumentsWithPasswords(server: ServerConfiguration): string[] {
  const args = server.transport === "stdio" ? server.args : [];
  return args.filter((argument) => urlCredentialsIn(argument).length > 0);
}
