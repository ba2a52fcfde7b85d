/** ptc as it serves models, whatever carries that: `ptc serve`, and the library, are made of it. */
import { clock } from "../base/clock.ts";
import { whyNoServers } from "../configuration/configured-servers.ts";
import type { FollowedConfiguration } from "../configuration/follow.ts";
import { everyLabel } from "../configuration/policy/configured-flow.ts";
import { whyNoSession } from "../execution/sessions/session-name.ts";
import { McpService } from "../server/mcp/service.ts";
import { openSharedFacts } from "../storage/storage.ts";
import { version } from "../system/package.ts";
import { openTelemetry } from "../telemetry/open-telemetry.ts";
import { checkValue } from "../tools/exposed-programs.ts";
import { openServing, type Serving, type ServingOptions } from "./serving.ts";

export interface ServiceOptions extends Omit<ServingOptions, "telemetry" | "following"> {
  following?: (ServingOptions["following"] & Pick<FollowedConfiguration, "problem">) | undefined;
  /** Whether clients are told of a configuration without servers. By default they are. */
  tellsOfNoServers?: boolean | undefined;
  /** Where questions are answered over HTTP, once that is known. */
  answerAt?: (() => string | undefined) | undefined;
  /** Whether metrics are kept for whoever reads them. */
  isScraped?: boolean | undefined;
  /** Whether other processes share what waits, so that any of them may answer the next request. */
  isOneOfMany?: boolean | undefined;
}

export interface OpenService extends Pick<Serving, "host" | "listed" | "gate"> {
  service: McpService;
  /** The metrics, as Prometheus reads them. */
  metrics: (() => Promise<string>) | undefined;
  /**
   * Ends everything. Never throws.
   *
   * @param patienceMs after this time, what is still running is killed or left to its engine.
   */
  close(patienceMs: number): Promise<void>;
}

/** Opens ptc for many programs. Telemetry is as the environment says. @throws as `openServing` does. */
export async function openService({
  tellsOfNoServers = true,
  isScraped,
  isOneOfMany,
  answerAt,
  ...options
}: ServiceOptions): Promise<OpenService> {
  const { env, onWarning, following } = options;
  const telemetry = await openTelemetry(env, { version, isScraped, onWarning });
  const { host, catalog, printers, outputs, gate, listed } = await openServing({ ...options, telemetry });
  const service = new McpService({
    version,
    catalog,
    printers,
    runner: host,
    outputs,
    telemetry,
    clock,
    use: host.use,
    // The client has its first answers before any of what runs programs is loaded.
    onReady: () => void host.warm(),
    limits: () => host.configuration.execution,
    approvesAtClient: () => host.configuration.approvals.require === "any",
    whyNoSession: (name) => whyNoSession(name, host.configuration),
    checkValue,
    labels: () => everyLabel(host.configuration),
    facts: isOneOfMany ? openSharedFacts(host.configuration, env) : undefined,
    notice: () => following?.problem ?? (tellsOfNoServers ? whyNoServers(host.configuration) : undefined),
    isOneOfMany,
    answerAt,
  });
  return {
    ...{ host, service, listed, gate, metrics: telemetry?.scrape },
    async close(patienceMs) {
      await Promise.all([host.close(patienceMs), telemetry?.close(patienceMs)]);
    },
  };
}
