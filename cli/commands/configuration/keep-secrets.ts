import { countNoun } from "../../../base/text/count-noun.ts";
import { oneLine } from "../../../base/text/one-line.ts";
import {
  findPlainSecrets,
  fromKeyring,
  fromVariable,
  keyringNameOf,
  replaceSecrets,
  variableOf,
  withoutArgumentSecrets,
} from "../../../host/configuration/edit/plain-secrets.ts";
import type { ServerEntry } from "../../../host/configuration/schema.ts";
import { UserSecrets } from "../../../host/user-secrets.ts";
import { UsageError } from "../../exit-code.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { ask } from "./find-servers.ts";

/**
 * The servers without secrets in plain text. On a terminal the keyring is offered for them; where it is refused, and in a
 * pipe, variables of the environment stand for them. `told` says which, in lines for people.
 *
 * @throws UsageError when the keyring cannot be written.
 */
export async function withoutPlainSecrets(
  servers: readonly ServerEntry[],
  surroundings: Surroundings,
): Promise<{ servers: ServerEntry[]; told: string[] }> {
  const { stdin, stderr, env } = surroundings;
  const told: string[] = [];
  const cleaned = servers.map((server) => {
    const { entry, variables } = withoutArgumentSecrets(server);
    for (const name of variables)
      told.push(
        `a secret among the arguments or in the URL of '${server.name}' is \${${name}} now: set ${name}`,
      );
    return entry;
  });
  const secrets = cleaned.flatMap(findPlainSecrets);
  if (secrets.length === 0) return { servers: cleaned, told };
  let isKept = false;
  if (stdin.isTTY === true && stderr.isTTY === true) {
    const names = secrets.map(({ server, key }) => `${server}: ${key}`).join(", ");
    await write(
      stderr,
      `${countNoun(secrets.length, "value")} in plain text ${secrets.length === 1 ? "looks" : "look"} secret (${oneLine(names, 400)}).\n`,
    );
    const answer = await ask(
      "Keep them in the keyring, so that ptc.yaml only names them? [Y/n]: ",
      surroundings,
    );
    if (answer === undefined) throw new UsageError("nothing was decided, and nothing was written");
    isKept = !/^\s*n/i.test(answer);
  }
  if (!isKept) {
    for (const secret of secrets)
      told.push(
        `${secret.key} of '${secret.server}' looks secret, and is \${${variableOf(secret)}} now: set ${variableOf(secret)}`,
      );
    return { servers: cleaned.map((entry) => replaceSecrets(entry, secrets, fromVariable)), told };
  }
  const keyring = new UserSecrets(env);
  for (const secret of secrets) {
    const kept = await keyring.set(keyringNameOf(secret), secret.secret);
    if (!kept.ok) throw new UsageError(`${kept.why}; nothing was written`);
    told.push(`${secret.key} of '${secret.server}' is kept as '${keyringNameOf(secret)}' in ${kept.where}`);
  }
  return { servers: cleaned.map((entry) => replaceSecrets(entry, secrets, fromKeyring)), told };
}
