/**
 * What servers say unasked, for one client: that their lists have changed, that a resource has, and what they log. Each notice names its
 * server, and a flood of them costs the client little.
 */
import { clientUri } from "../../tools/client-names.ts";
import type { HeardNotice } from "../../tools/live-catalog.ts";

/** Receives notices for a client, in the form of MCP. */
export interface NoticeSink {
  listChanged(list: "resources" | "prompts"): void;
  /** @param uri as the client has subscribed to it. */
  updated(uri: string): void;
  message(params: { level: LogLevel; logger: string; data: unknown }): void;
}

/** MCP 2025-11-25, "Logging". */
const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;
type LogLevel = (typeof LEVELS)[number];

/** How long notices are gathered. */
const GATHER_MS = 100;
/** The most log messages in that time. */
const MAX_MESSAGES = 50;
const MAX_LOGGER_CHARS = 64;

export class ClientServerNotices {
  readonly #mayHear: (module: string) => Promise<boolean>;
  readonly #logs: () => boolean;
  /** Absent until the client accepts notifications. */
  sink: NoticeSink | undefined;
  /** The URIs that the client has subscribed to. */
  readonly subscribed = new Set<string>();
  #gathered: (() => void)[] = [];
  readonly #keys = new Set<string>();
  #messages = 0;

  /**
   * @param mayHear whether the client may be given anything of a server.
   * @param logs whether log messages are passed on: what they hold has no labels.
   */
  constructor(mayHear: (module: string) => Promise<boolean>, logs: () => boolean) {
    this.#mayHear = mayHear;
    this.#logs = logs;
  }

  /** Accepts a log message from the server of a module. */
  take(module: string, notice: HeardNotice): void {
    const { sink } = this;
    if (sink === undefined) return;
    switch (notice.kind) {
      case "listed":
        for (const list of notice.lists) this.#gather(module, list, () => sink.listChanged(list));
        return;
      case "updated": {
        const uri = clientUri(module, notice.uri);
        if (this.subscribed.has(uri)) this.#gather(module, `updated ${uri}`, () => sink.updated(uri));
        return;
      }
      case "message": {
        const message = readMessage(module, notice.params);
        if (message === undefined || !this.#logs() || this.#messages >= MAX_MESSAGES) return;
        this.#messages++;
        this.#gather(module, `message ${this.#messages}`, () => sink.message(message));
      }
    }
  }

  #gather(module: string, key: string, send: () => void): void {
    if (this.#keys.has(key)) return;
    if (this.#gathered.length === 0) setTimeout(() => this.#flush(), GATHER_MS).unref();
    this.#keys.add(key);
    this.#gathered.push(() => {
      this.#mayHear(module).then(
        (may) => may && send(),
        () => {},
      );
    });
  }

  #flush(): void {
    const gathered = this.#gathered;
    this.#gathered = [];
    this.#keys.clear();
    this.#messages = 0;
    for (const send of gathered) send();
  }
}

/** A log message that says whose it is; `undefined` for one that clients would refuse. */
function readMessage(module: string, { level, logger, data }: Record<string, unknown>) {
  const known = LEVELS.find((each) => each === level);
  if (known === undefined || data === undefined) return undefined;
  const name =
    typeof logger === "string" ? `/${logger.replace(/[^\w.:-]/g, "_").slice(0, MAX_LOGGER_CHARS)}` : "";
  return { level: known, logger: `${module}${name}`, data };
}
