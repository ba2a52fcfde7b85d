import { jsonLine } from "../../../base/json/json-line.ts";
import { oneLine } from "../../../base/text/one-line.ts";
import { loadConfiguration } from "../../../host/configuration/load.ts";
import { type LoginStatus, loginStatus } from "../../../host/logins/login-status.ts";
import { UpstreamError } from "../../../upstream/upstream-error.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, UsageError } from "../../exit-code.ts";
import { LOCAL_USER } from "../../local-user.ts";
import { write } from "../../surroundings.ts";

/** `ptc auth status` */
export const defineStatus: DefineCommand = (auth, surroundings, finish) => {
  auth
    .command("status [server]")
    .description("show which servers are logged in to, without asking them")
    .option("--config <file>", "configuration file")
    .option("--json", "print them as JSON")
    .addHelpText("after", "\nExample:\n  ptc auth status\n")
    .action(async (name: string | undefined, flags: { config?: string; json?: boolean }) => {
      const { env, stdout, stderr } = surroundings;
      const { servers } = await loadConfiguration({ flag: flags.config, env, cwd: surroundings.cwd() });
      const asked = servers.filter(
        (server) => name === undefined || server.name === name || server.module === name,
      );
      if (name !== undefined && asked.length === 0)
        throw new UsageError(`server '${oneLine(name, 64)}' is not in the configuration`);
      try {
        const all = await loginStatus({ servers: asked }, LOCAL_USER.principal, env);
        const width = Math.max(0, ...all.map(({ server }) => server.length));
        const lines = all.map((status) => `${status.server.padEnd(width)}  ${describe(status)}\n`);
        await write(stdout, flags.json ? `${jsonLine(all)}\n` : lines.join(""));
        finish(EXIT.done);
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        await write(stderr, `ptc: ${oneLine(error.message)}\n`);
        finish(EXIT.failed);
      }
    });
};

function describe(status: LoginStatus): string {
  const { server, state, issuer = "", scope, wantedScope, expiresAt, renews, place } = status;
  const again = `run \`ptc auth login ${server}\``;
  switch (state) {
    case "configured":
      return "has no login: its credentials, if any, are in ptc.yaml";
    case "machine":
      return "gets its tokens by client_credentials in ptc.yaml";
    case "none":
      return `not logged in; if it asks for a login, ${again}`;
    case "ended":
      return `the login at ${issuer} has ended: ${again}`;
    case "logged_in": {
      const parts = [
        `logged in at ${oneLine(issuer, 200)}`,
        ...(scope === undefined ? [] : [`scopes ${oneLine(scope, 200)}`]),
        ...(renews === true ? ["renewed by itself"] : expiresAt === undefined ? [] : [`until ${expiresAt}`]),
        ...(place === undefined ? [] : [`kept in ${place}`]),
      ];
      const more =
        wantedScope === undefined ? "" : `; it wants more scopes (${oneLine(wantedScope, 200)}): ${again}`;
      return `${parts.join(", ")}${more}`;
    }
  }
}
