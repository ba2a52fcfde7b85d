import type { Authorization, Challenge } from "../../upstream/authorization/authorization.ts";
import type { LoginStore } from "../../upstream/authorization/logins/login-store.ts";
import { MachineLogin } from "../../upstream/authorization/machine-login.ts";
import { StoredLogin } from "../../upstream/authorization/stored-login.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { loginKeyOf } from "../logins/open-logins.ts";
import { clock } from "../process-clock.ts";

/**
 * The logins at the remote servers of a configuration. What speaks OAuth is loaded when a server first asks for a token.
 *
 * @param onSecret is told of every token before it is used.
 */
export function composeAuthorizations(
  { servers }: Configuration,
  store: LoginStore,
  onSecret: (secret: string) => void,
): (principal: string, server: string) => Authorization | undefined {
  return (principal, name) => {
    const server = servers.find((each) => each.name === name);
    if (server === undefined || server.transport === "stdio" || server.auth === undefined) return undefined;
    const { auth: settings, url: serverUrl } = server;
    if (settings.type === "client_credentials") {
      return new MachineLogin({
        async fetch(wanted) {
          const { fetchMachineToken } = await import("../../upstream/mcp/client/auth/machine-token.ts");
          return fetchMachineToken({ serverUrl, settings, ...wanted, clock });
        },
        onSecret,
        clock,
      });
    }
    return new StoredLogin({
      key: loginKeyOf(principal, server),
      store,
      async refresh(login, signal) {
        const { refreshLogin } = await import("../../upstream/mcp/client/auth/refresh.ts");
        return refreshLogin(login, clock, signal);
      },
      async offersLogin(challenge: Challenge, signal) {
        if (challenge.isOfTokens || !settings.isDefault) return true;
        const { offersLogin } = await import("../../upstream/mcp/client/auth/offers-login.ts");
        return offersLogin(serverUrl, challenge, signal);
      },
      onSecret,
      clock,
    });
  };
}
