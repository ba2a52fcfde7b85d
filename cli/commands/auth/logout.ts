import { jsonLine } from "../../../base/json/json-line.ts";
import { oneLine } from "../../../base/text/one-line.ts";
import { openLoginAudit } from "../../../host/audit/login-audit.ts";
import { loadConfiguration } from "../../../host/configuration/load.ts";
import { loginServer } from "../../../host/logins/log-in.ts";
import { logOut } from "../../../host/logins/login-status.ts";
import { UpstreamError } from "../../../upstream/upstream-error.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT } from "../../exit-code.ts";
import { LOCAL_USER } from "../../local-user.ts";
import { write } from "../../surroundings.ts";

/** `ptc auth logout` */
export const defineLogout: DefineCommand = (auth, surroundings, finish) => {
  auth
    .command("logout <server>")
    .description("forget the login at a server, and have its tokens revoked where that is offered")
    .option("--config <file>", "configuration file")
    .option("--json", "print the outcome as JSON")
    .addHelpText("after", "\nExample:\n  ptc auth logout internal-apis\n")
    .action(async (name: string, flags: { config?: string; json?: boolean }) => {
      const { env, stdout, stderr } = surroundings;
      const configuration = await loadConfiguration({ flag: flags.config, env, cwd: surroundings.cwd() });
      const audit = openLoginAudit(configuration, env, (message) =>
        surroundings.stderr.write(`ptc: warning: ${message}\n`),
      );
      try {
        const server = loginServer(configuration, name);
        const outcome = await logOut(server, LOCAL_USER.principal, env, (event) => audit.login(event));
        const { wasLoggedIn, isRevoked, problem } = outcome;
        const how = isRevoked === true ? ", and its tokens are revoked" : "";
        const text = wasLoggedIn ? `logged out of '${server.name}'${how}` : `'${server.name}' had no login`;
        await write(stdout, `${flags.json ? jsonLine({ server: server.name, ...outcome }) : text}\n`);
        if (problem !== undefined) await write(stderr, `ptc: warning: ${oneLine(problem)}\n`);
        finish(EXIT.done);
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        await write(stderr, `ptc: ${oneLine(error.message)}\n`);
        finish(EXIT.usage);
      } finally {
        await audit.close();
      }
    });
};
