/**
 * Notifies people of questions that no client shows: by a webhook, in Slack, or by a command (`notify` in ptc.yaml).
 * A run never waits for a notification, and a question waits whether or not one was delivered. Notifications contain no secrets. People
 * answer with `ptc approvals`, or with the buttons in Slack (`slack.ts`).
 */

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../base/faults.ts";
import { writeJson } from "../base/json.ts";
import type { NotifySettings } from "../configuration/configuration.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import type { ConfiguredSecret } from "../upstream/secret-source.ts";
import { type Notice, noticeOf, type WaitingQuestion } from "./notice.ts";
import { addressOf, signedHeaders } from "./signing.ts";
import { slackMessage } from "./slack.ts";

interface NotifierOptions {
  settings: () => NotifySettings;
  /** The address of the page that shows a question; `undefined` if there is none. */
  linkTo: (ticket: string) => string | undefined;
  readSecret: (secret: ConfiguredSecret, signal: AbortSignal) => Promise<string>;
  env: EnvironmentVariables;
  onWarning: (message: string) => void;
  /** The times between tries, in milliseconds. */
  pausesMs?: readonly number[] | undefined;
}

/** Standard Webhooks: a failed delivery is tried again. The question may be answered meanwhile, so it is not tried for long. */
const PAUSES_MS = [1_000, 5_000];
const TRY_MS = 10_000;
const COMMAND_MS = 30_000;
/** How many tickets are remembered, so that people are notified once of a question that first waits with its run and is then suspended. */
const MAX_TOLD = 1_000;

export class Notifier {
  readonly #options: NotifierOptions;
  readonly #told = new Set<string>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #ending = new AbortController();

  constructor(options: NotifierOptions) {
    this.#options = options;
  }

  /** How long a question waits with its run before people are notified, in milliseconds; `undefined` if nobody is. */
  get afterMs(): number | undefined {
    const { webhook, slack, command, afterMs } = this.#options.settings();
    return webhook === undefined && slack === undefined && command === undefined ? undefined : afterMs;
  }

  /** Notifies people of a question, once. Never throws, and does not wait. */
  tell(question: WaitingQuestion): void {
    if (this.afterMs === undefined || this.#told.has(question.ticket)) return;
    this.#told.add(question.ticket);
    const [oldest] = this.#told;
    if (this.#told.size > MAX_TOLD && oldest !== undefined) this.#told.delete(oldest);
    const { webhook, slack, command, off } = this.#options.settings();
    if (off !== undefined) {
      this.#options.onWarning(`notify: nobody was told of a question: ${off}`);
      return;
    }
    const notice = noticeOf(question, this.#options.linkTo(question.ticket));
    if (webhook !== undefined) this.#deliver("webhook", () => this.#post(webhook, notice), question);
    if (slack !== undefined) this.#deliver("slack", () => this.#postSlack(slack, notice), question);
    if (command !== undefined) this.#deliver("command", () => this.#run(command, notice), question);
  }

  /** Resolves when all notifications are delivered, or after the time limit of one try. Never rejects. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.#ending.abort(), TRY_MS);
    await Promise.all(this.#underWay);
    clearTimeout(timer);
    this.#ending.abort();
  }

  #deliver(channel: string, send: () => Promise<void>, { ticket }: WaitingQuestion): void {
    const sent = send().catch((error: unknown) => {
      const how = `\`ptc approvals show ${ticket}\` shows it`;
      this.#options.onWarning(
        `notify.${channel}: nobody was told of a question: ${messageOf(error)}; ${how}`,
      );
    });
    this.#underWay.add(sent);
    void sent.finally(() => this.#underWay.delete(sent));
  }

  async #post({ url, secret }: NonNullable<NotifySettings["webhook"]>, notice: Notice): Promise<void> {
    const body = writeJson({
      type: "approval.requested",
      timestamp: new Date().toISOString(),
      data: notice,
    });
    const id = `msg_${randomUUID()}`;
    await this.#patiently(url, async (address, signal) => {
      const headers = signedHeaders(await this.#options.readSecret(secret, signal), id, body);
      return fetch(address, { method: "POST", headers, body, signal, redirect: "manual" });
    });
  }

  async #postSlack(
    { url, signingSecret }: NonNullable<NotifySettings["slack"]>,
    notice: Notice,
  ): Promise<void> {
    const body = writeJson(slackMessage(notice, { hasButtons: signingSecret !== undefined }));
    const headers = { "Content-Type": "application/json" };
    await this.#patiently(url, (address, signal) =>
      fetch(address, { method: "POST", headers, body, signal, redirect: "manual" }),
    );
  }

  /** Posts until the receiver accepts. The messages do not name the URL, which may be a secret. */
  async #patiently(
    url: ConfiguredSecret,
    post: (address: URL, signal: AbortSignal) => Promise<Response>,
  ): Promise<void> {
    const pauses = [...(this.#options.pausesMs ?? PAUSES_MS)];
    for (;;) {
      const signal = AbortSignal.any([this.#ending.signal, AbortSignal.timeout(TRY_MS)]);
      const address = addressOf(await this.#options.readSecret(url, signal));
      let failure: string;
      try {
        const { status, ok, body } = await post(address, signal);
        await body?.cancel();
        if (ok) return;
        failure = `${address.host} answered with HTTP status ${status}`;
        if (status < 500 && status !== 429) throw new Error(failure);
      } catch (error) {
        if (error instanceof Error && error.message.startsWith(address.host)) throw error;
        const { cause } = error as { cause?: unknown };
        failure = `${address.host} was not reached (${messageOf(cause ?? error)})`;
      }
      const pause = pauses.shift();
      if (pause === undefined || this.#ending.signal.aborted) throw new Error(failure);
      await delay(pause, undefined, { signal: this.#ending.signal }).catch(() => {});
    }
  }

  /** Runs the command with the notice as JSON on its standard input. */
  async #run([program, ...args]: readonly [string, ...string[]], notice: Notice): Promise<void> {
    const { PATH, HOME, LANG } = this.#options.env;
    const signal = AbortSignal.any([this.#ending.signal, AbortSignal.timeout(COMMAND_MS)]);
    const child = spawn(program, args, {
      signal,
      killSignal: "SIGKILL",
      stdio: ["pipe", "ignore", "ignore"],
      env: Object.fromEntries(
        Object.entries({ PATH, HOME, LANG, PTC_TICKET: notice.ticket }).filter(([, value]) => value),
      ),
    });
    // A command that does not read its input is not at fault.
    child.stdin?.on("error", () => {});
    child.stdin?.end(`${writeJson(notice)}\n`);
    await new Promise<void>((resolve, reject) => {
      child.once("error", (error) =>
        reject(new Error(signal.aborted ? `${program} took too long` : `${program}: ${error.message}`)),
      );
      child.once("exit", (code, by) =>
        code === 0
          ? resolve()
          : reject(new Error(`${program} ended with ${code === null ? by : `exit code ${code}`}`)),
      );
    });
  }
}
