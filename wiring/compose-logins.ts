import type { AuditLog } from "../archive/audit/audit-log.ts";
import type { CallDispatcher } from "../broker/dispatcher.ts";
import { offerLogins } from "../broker/offer-logins.ts";
import type { Viewer } from "../broker/policy/authorizer.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { beginLogin } from "../logins/log-in.ts";
import { loginServer } from "../logins/logins.ts";
import type { LoginSecrets } from "../logins/user-secrets.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";

interface LoginParts {
  env: EnvironmentVariables;
  secrets: LoginSecrets;
  audit: AuditLog;
  /** The configuration as it is just now. */
  current: () => Configuration;
}

/** Puts logins around calls: where a call needs one, the person at the client is offered it. */
export function composeLogins({ env, secrets, audit, current }: LoginParts) {
  return (dispatcher: CallDispatcher, { principal }: Pick<Viewer, "principal">): CallDispatcher =>
    offerLogins(dispatcher, (server, signal) =>
      beginLogin(loginServer(current(), server), principal, {
        env,
        secrets,
        signal,
        onLogin: (event) => audit.login(event),
      }),
    );
}
