/** What people do with servers in the console: ask them for their tools, log in at them, and log out. */

import { messageOf } from "../../base/faults.ts";
import { oneLine } from "../../base/visible-text.ts";
import type { BegunLogin } from "../../console/parts.ts";
import type { CheckedServer } from "../../console/server-checks.ts";
import { ModuleGenerator } from "../../generation/generate.ts";
import { GeneratedFolder } from "../../generation/generated-folder.ts";
import { loginServer, logOut } from "../../logins/logins.ts";
import type { OnLogin } from "../../upstream/authorization/authorization.ts";
import type { Host } from "../host.ts";
import type { Project } from "../open-project.ts";

/** How long servers have to start and to list their tools. */
const PATIENCE_MS = 60_000;
const MAX_WHY_CHARS = 1_000;

/** Asks every server for its tools as a principal, and compares them with the generated ones. Writes nothing. Never rejects. */
export async function checkForConsole(
  host: Pick<Host, "configuration" | "serversOf">,
  principal: string,
  signal: AbortSignal,
): Promise<readonly CheckedServer[] | { why: string }> {
  const late = AbortSignal.timeout(PATIENCE_MS);
  try {
    const { configuration } = host;
    const servers = configuration.servers.filter(({ off }) => off === undefined);
    const generator = new ModuleGenerator({
      configuration,
      servers,
      upstreams: await host.serversOf(principal),
      folder: new GeneratedFolder(configuration),
    });
    const { drift, failures } = await generator.propose(AbortSignal.any([signal, late]));
    return servers.map(({ name }) => {
      const failure = failures.find(({ server }) => server === name);
      const why =
        failure?.code === "cancelled" && late.aborted
          ? `it did not answer within ${PATIENCE_MS / 1_000} s`
          : failure?.message;
      return {
        server: name,
        ...(why === undefined ? {} : { why: oneLine(why, MAX_WHY_CHARS) }),
        ...(failure === undefined ? { difference: drift.find(({ server }) => server === name) } : {}),
      };
    });
  } catch (error) {
    return { why: oneLine(messageOf(error), MAX_WHY_CHARS) };
  }
}

/** Begins the login of a principal at a server. It goes on until the signal aborts. Never rejects. */
export async function connectForConsole(
  host: Pick<Host, "startLogin">,
  principal: string,
  server: string,
  signal: AbortSignal,
): Promise<BegunLogin> {
  try {
    const begun = await host.startLogin(principal, server, signal);
    if (begun === undefined) return { why: `Server '${server}' asks for no login.` };
    begun.done.catch(() => {});
    return { address: begun.url };
  } catch (error) {
    return { why: oneLine(messageOf(error), MAX_WHY_CHARS) };
  }
}

/** Removes the login of a principal at a server. Resolves with what has to be said of it, in one line. Never rejects. */
export async function disconnectForConsole(
  project: Pick<Project, "configuration" | "env" | "auditLogin">,
  principal: string,
  server: string,
): Promise<{ why: string } | undefined> {
  const { configuration, env } = project;
  try {
    const found = loginServer(configuration, server);
    const onLogin: OnLogin = (event) => project.auditLogin(event);
    const { problem } = await logOut(found, principal, env, onLogin, configuration);
    if (problem === undefined) return undefined;
    return { why: `You are logged out here, and ${oneLine(problem, MAX_WHY_CHARS)}` };
  } catch (error) {
    return { why: oneLine(messageOf(error), MAX_WHY_CHARS) };
  }
}
