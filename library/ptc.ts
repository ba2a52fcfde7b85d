/**
 * ptc in a program of yours: `createPtc` opens it, and `tool` makes a function a tool. It uses the same parts as `ptc serve`
 * (`service.ts`), with two differences: questions go to a function instead of a client, and functions are one more server.
 */

import { join, resolve } from "node:path";
import { messageOf } from "../base/faults.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { FollowedConfiguration } from "../configuration/follow.ts";
import { configurationOf } from "../configuration/load.ts";
import { Project } from "../project/open-project.ts";
import { openService } from "../project/service.ts";
import { type OwnProcess, openState } from "../system/state-directory.ts";
import { type Ptc, PtcError, type PtcOptions } from "./api.ts";
import { functionServer, readTools } from "./function-server.ts";
import { OpenPtc, plainly, warnInProcess } from "./open-ptc.ts";
import { checkNode, checkOptions, principalOf } from "./options.ts";

export * from "./api.ts";

/**
 * Opens ptc in this process. Servers of the configuration whose tools were never listed are listed first.
 *
 * @throws PtcError for options, a configuration or a tool that cannot be used, and a Node.js that is too old.
 */
export async function createPtc(options: PtcOptions = {}): Promise<Ptc> {
  return plainly(async () => {
    checkNode();
    checkOptions("createPtc", options);
    const opened = await openConfiguration(options);
    try {
      const { principal } = principalOf(options.principal);
      const { onWarning = warnInProcess } = options;
      const { configuration, following, env } = opened;
      const project = new Project(configuration, { env, onWarning });
      const service = await openService(project, { following, principal, tellsOfNoServers: false });
      const ptc = new OpenPtc(options, service, opened.close);
      try {
        await ptc.open();
      } catch (error) {
        await ptc.close();
        throw error;
      }
      return ptc;
    } catch (error) {
      opened.close();
      throw error;
    }
  });
}

interface OpenedConfiguration {
  configuration: Configuration;
  following: Pick<FollowedConfiguration, "refresh" | "use" | "problem"> | undefined;
  env: Readonly<Record<string, string | undefined>>;
  /** Removes its temporary files. May be called twice. */
  close: () => void;
}

/** The configuration with the functions as one more server. Edits of a file take effect while ptc runs. */
async function openConfiguration({
  config = {},
  tools = {},
  cwd: folder = ".",
  env = process.env,
  onWarning = warnInProcess,
}: PtcOptions): Promise<OpenedConfiguration> {
  const cwd = resolve(folder);
  const functions = await readTools(tools);
  const withFunctions = (read: Configuration): Configuration => {
    const own = functionServer(functions, read.execution.toolCallTimeoutMs);
    if (own === undefined) return read;
    const taken = read.servers.find(({ module }) => module === own.module);
    if (taken !== undefined)
      throw new PtcError(
        "invalid",
        `servers: '${taken.name}' is the name of the server of your functions; rename it`,
      );
    return { ...read, servers: [...read.servers, own] };
  };
  if (typeof config === "string") {
    const file = await FollowedConfiguration.open({
      flag: config,
      givenBy: "`config`",
      env,
      cwd,
      onEdit: onWarning,
    });
    const configuration = withFunctions(file.current);
    file.watch();
    return {
      configuration,
      following: {
        get problem() {
          return file.problem;
        },
        refresh: () => file.refresh(),
        use: (apply) => file.use((next) => apply(withFunctions(next))),
      },
      env,
      close: () => file.stop(),
    };
  }
  // JSON is YAML, so an object is checked like a file.
  const found = { file: "config", path: join(cwd, "config"), text: jsonOf(config) };
  const read = withFunctions(configurationOf(found, { env, cwd }));
  let own: OwnProcess | undefined;
  const hasServers = read.servers.some(({ transport }) => transport !== "functions");
  // The modules of an object's servers belong to this process: there is no file beside which to write them.
  if (hasServers) own = openState(env);
  return {
    configuration: own === undefined ? read : { ...read, generated: join(own.state.path, "generated") },
    following: undefined,
    env,
    close: () => own?.state.remove(),
  };
}

function jsonOf(config: object): string {
  try {
    return JSON.stringify(config);
  } catch (error) {
    throw new PtcError("invalid", `config: cannot be written as JSON: ${messageOf(error)}`);
  }
}
