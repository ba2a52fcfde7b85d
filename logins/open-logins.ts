import { homedir } from "node:os";
import { join } from "node:path";
import type { RemoteServerConfiguration } from "../configuration/configuration.ts";
import { openKeyring } from "../secrets/keyring/keyring.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import type { LoginKey } from "../upstream/authorization/logins/login-record.ts";
import { LoginStore } from "../upstream/authorization/logins/login-store.ts";

/** Opens this user's logins. Nothing is read or made before the first is looked for. */
export function openLoginStore(env: EnvironmentVariables): LoginStore {
  const folder = env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local/state");
  return new LoginStore({ folder: join(folder, "ptc/logins"), keyring: () => openKeyring({ env }) });
}

/** What the login of a principal at a server is known by. */
export function loginKeyOf(principal: string, { name, url, auth }: RemoteServerConfiguration): LoginKey {
  return { principal, server: name, url, clientId: auth?.clientId };
}
