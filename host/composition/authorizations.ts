import type { Authorization, Challenge } from "../../upstream/authorization/authorization.ts";
import type { OnLogin } from "../../upstream/authorization/login-event.ts";
import { isSameIssuer } from "../../upstream/authorization/logins/login-record.ts";
import type { LoginStore } from "../../upstream/authorization/logins/login-store.ts";
import { MachineLogin } from "../../upstream/authorization/machine-login.ts";
import { StoredLogin } from "../../upstream/authorization/stored-login.ts";
import { AuthSecrets } from "../../upstream/secret-sources/auth-secrets.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { isRemote } from "../configuration/servers/server-values.ts";
import type { LoginSecrets } from "../logins/login-secrets.ts";
import { loginKeyOf } from "../logins/open-logins.ts";
import { clock } from "../process-clock.ts";

/**
 * The logins at the remote servers of a configuration. What speaks OAuth is loaded when a server first asks for a token.
 *
 * @param secrets reads those of the configuration, and is told of every token before it is used.
 * @param onLogin is told of what happens to logins here.
 */
export function composeAuthorizations(
  { servers }: Configuration,
  store: LoginStore,
  secrets: LoginSecrets,
  onLogin?: OnLogin,
): (principal: string, server: string) => Authorization | undefined {
  const onSecret = (secret: string) => secrets.onSecret(secret);
  const authSecrets = new AuthSecrets(secrets.sources, onSecret);
  return (principal, name) => {
    const server = servers.find((each) => each.name === name);
    if (server === undefined || !isRemote(server) || server.auth === undefined) return undefined;
    const { auth: settings, url: serverUrl } = server;
    if (settings.type === "client_credentials") {
      return new MachineLogin({
        async fetch(wanted) {
          const { fetchMachineToken } = await import("../../upstream/mcp/client/auth/machine-token.ts");
          const [clientSecret, privateKey] = await Promise.all([
            authSecrets.read(settings.clientSecret),
            authSecrets.read(settings.privateKey),
          ]);
          const filled = { ...settings, clientSecret, privateKey };
          return fetchMachineToken({ serverUrl, settings: filled, ...wanted, clock });
        },
        onSecret,
        clock,
        onToken: (reason) =>
          onLogin?.({
            principal,
            server: name,
            event: reason === undefined ? "machine_token" : "failed",
            reason,
          }),
      });
    }
    return new StoredLogin({
      key: loginKeyOf(principal, server),
      store,
      async refresh(login, signal) {
        // What the configuration has now is not for the authorization server of then.
        if (settings.issuer !== undefined && !isSameIssuer(settings.issuer, login.issuer)) return undefined;
        const { refreshLogin } = await import("../../upstream/mcp/client/auth/refresh.ts");
        // The secret may be another one since the login. That of a registration is with the login alone.
        const secret =
          login.client.kind === "configured"
            ? await authSecrets.read(settings.clientSecret, signal)
            : login.client.secret;
        return refreshLogin({ ...login, client: { ...login.client, secret } }, clock, signal);
      },
      async offersLogin(challenge: Challenge, signal) {
        if (challenge.isOfTokens || !settings.isDefault) return true;
        const { offersLogin } = await import("../../upstream/mcp/client/auth/offers-login.ts");
        return offersLogin(serverUrl, challenge, signal);
      },
      onSecret,
      clock,
      onLogin,
    });
  };
}
