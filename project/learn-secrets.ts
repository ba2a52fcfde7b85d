import { isRemote, secretSourcesOf } from "../configuration/configured-servers.ts";
import { loginKeyOf, openLoginStore } from "../logins/logins.ts";
import { SecretSources } from "../upstream/secret-sources.ts";
import { LOCAL_USER } from "./local-user.ts";
import type { Project } from "./open-project.ts";

/**
 * Redacts, besides what a project has read already, what it can read without running anything: secrets in the keyring and in files, and the
 * tokens of the logins of the person at this machine. What cannot be read is passed over.
 */
export async function learnSecrets({
  configuration,
  env,
  keyring,
  redactor,
}: Pick<Project, "configuration" | "env" | "keyring" | "redactor">): Promise<void> {
  const signal = new AbortController().signal;
  const sources = new SecretSources({ env, keyring, redact: (text) => text, onSpawn() {}, onExit() {} });
  const logins = openLoginStore(env, configuration);
  const learn = async (read: Promise<readonly (string | undefined)[]>) => {
    for (const secret of await read.catch(() => [])) if (secret !== undefined) redactor.add(secret);
  };
  await Promise.all(
    configuration.servers.flatMap((server) => [
      ...secretSourcesOf(server)
        .filter(({ source }) => source.from !== "command")
        .map(({ source }) => learn(sources.read(source, signal).then((secret) => [secret]))),
      ...(isRemote(server) && server.auth?.type === "oauth"
        ? [
            learn(
              logins
                .read(loginKeyOf(LOCAL_USER.principal, server))
                .then((login) => [login?.accessToken, login?.refreshToken, login?.client.secret]),
            ),
          ]
        : []),
    ]),
  );
}
