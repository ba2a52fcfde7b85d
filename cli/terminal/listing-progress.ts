import type { Writable } from "node:stream";
import { countNoun } from "../../base/text/count-noun.ts";
import type { ListOutcome } from "../../host/generation/list-servers.ts";
import type { Surroundings } from "../surroundings.ts";

const CLEAR = "\r\u001b[K";
const SECOND_MS = 1_000;
const DEFAULT_COLUMNS = 80;

type Screen = Writable & { isTTY?: boolean; columns?: number };

/**
 * Shows on a terminal which servers are still being listed: in one line that is drawn again, or, in CI and on a terminal that
 * cannot do that, in a line for each server. In a pipe nothing is shown.
 */
export class ListingProgress {
  readonly #screen: Screen;
  readonly #form: "drawn" | "lines" | "none";
  readonly #waiting: Set<string>;
  readonly #failed: string[] = [];
  readonly #beganMs = performance.now();
  #done = 0;
  #isDrawn = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(screen: Screen, env: Surroundings["env"], servers: readonly string[]) {
    this.#screen = screen;
    this.#waiting = new Set(servers);
    const isPlain = env.TERM === "dumb" || (env.CI !== undefined && env.CI !== "" && env.CI !== "false");
    this.#form = screen.isTTY !== true || servers.length === 0 ? "none" : isPlain ? "lines" : "drawn";
    if (this.#form === "lines") screen.write(`ptc: listing ${countNoun(servers.length, "server")}\n`);
    if (this.#form !== "drawn") return;
    this.#draw();
    this.#timer = setInterval(() => this.#draw(), SECOND_MS).unref();
  }

  /** Notes that a server is listed, or cannot be. */
  settle({ server, tools }: ListOutcome): void {
    this.#waiting.delete(server);
    if (tools === undefined) this.#failed.push(server);
    else this.#done++;
    if (this.#form === "lines") {
      const outcome = tools === undefined ? "failed" : countNoun(tools, "tool");
      this.#screen.write(`ptc: ${server}: ${outcome}\n`);
    } else if (this.#timer !== undefined) this.#draw();
  }

  /** Removes the line, so that others can be written. It is drawn again with the next change. */
  clear(): void {
    if (this.#isDrawn) this.#screen.write(CLEAR);
    this.#isDrawn = false;
  }

  /** Removes the line for good. */
  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.clear();
  }

  #draw(): void {
    const seconds = Math.floor((performance.now() - this.#beganMs) / SECOND_MS);
    const parts = [
      ...(this.#waiting.size === 0 ? [] : [`listing ${[...this.#waiting].join(", ")}`]),
      ...(this.#failed.length === 0 ? [] : [`failed: ${this.#failed.join(", ")}`]),
    ];
    const text = `ptc: ${this.#done} done, ${seconds} s; ${parts.join("; ")}`;
    const columns = this.#screen.columns || DEFAULT_COLUMNS;
    this.#screen.write(`${CLEAR}${text.length < columns ? text : `${text.slice(0, columns - 4)}...`}`);
    this.#isDrawn = true;
  }
}
