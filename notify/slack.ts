/**
 * Slack: questions as messages, and the answers that people give with their buttons (`POST /notify/slack`).
 *
 * In a message, everything that a program or a server can choose is in `rich_text`, in which Slack parses no markup: no mention, no
 * link and no command. An answer is valid only if Slack signed it recently and `notify.slack.approvers` lists the person who
 * pressed the button. The button names one question by its digest: an answer to another question, a second answer and a late
 * answer change nothing. Only the person who pressed sees a refusal.
 */

import { createHmac, timingSafeEqual } from "node:crypto";
import * as z from "zod/mini";
import { messageOf } from "../base/faults.ts";
import { writeJson } from "../base/json.ts";
import type { NotifySettings, SlackApprover } from "../configuration/configuration.ts";
import type { Notice } from "./notice.ts";

/** The buttons' names, which come back with an answer. */
const APPROVE = "ptc_approve";
const DENY = "ptc_deny";

/** Slack refuses longer texts. */
const MAX_TEXT_CHARS = 2_800;
const MAX_LABEL_CHARS = 140;

/** The message for an incoming webhook. @param hasButtons whether people can answer in Slack. */
export function slackMessage(notice: Notice, { hasButtons }: { hasButtons: boolean }): object {
  const { tool, reason, lines, origins, expires_at: expires, link, command } = notice;
  const program = lines.map(
    ({ line, text, calls }) => `${calls ? ">" : " "} ${String(line).padStart(4)}  ${text}`,
  );
  const facts = [
    reason,
    ...origins,
    `for ${notice.principal}, in ${notice.file_name}`,
    expires === null ? "its run waits just now" : `until ${expires}`,
    link === null ? command : null,
  ].filter((each) => each !== null);
  const value = `${notice.ticket} ${notice.digest}`;
  const buttons = [
    ...(hasButtons
      ? [
          button("Approve", APPROVE, { value, style: "primary" }),
          button("Deny", DENY, { value, style: "danger" }),
        ]
      : []),
    ...(link === null ? [] : [button("Open", "ptc_open", { url: link })]),
  ];
  return {
    // The text for notifications, and for clients that show no blocks.
    text: plainOf(`ptc: ${tool} needs an approval`),
    blocks: [
      rich("rich_text_section", `ptc: ${tool} needs an approval`, { bold: true }),
      rich("rich_text_preformatted", cut(writeJson(notice.arguments, 2))),
      ...(program.length === 0 ? [] : [rich("rich_text_preformatted", cut(program.join("\n")))]),
      rich("rich_text_section", cut(facts.join("\n"))),
      ...(buttons.length === 0 ? [] : [{ type: "actions", elements: buttons }]),
    ],
  };
}

function rich(type: "rich_text_section" | "rich_text_preformatted", text: string, style?: object): object {
  return {
    type: "rich_text",
    elements: [{ type, elements: [{ type: "text", text, ...(style && { style }) }] }],
  };
}

function button(label: string, action: string, more: object): object {
  return { type: "button", text: { type: "plain_text", text: label }, action_id: action, ...more };
}

/** Escapes `&`, `<` and `>`, the only characters with a meaning in the text of a Slack message. */
function plainOf(text: string): string {
  const short = text.length > MAX_LABEL_CHARS ? `${text.slice(0, MAX_LABEL_CHARS)}…` : text;
  return short.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function cut(text: string): string {
  if (text === "") return " ";
  return text.length > MAX_TEXT_CHARS
    ? `${text.slice(0, MAX_TEXT_CHARS)}\n… (${text.length} characters)`
    : text;
}

/** The answer of a person, who may or may not be allowed to give it. */
export interface SlackAnswer {
  readonly ticket: string;
  readonly digest: string;
  readonly decision: "once" | "denied";
  /** Who pressed, as the configuration knows them. */
  readonly approver: SlackApprover;
  /** Who pressed, as Slack knows them: the member ID, and a name that they gave themselves. */
  readonly member: string;
  readonly username?: string | undefined;
}

/** The outcome of an answer: accepted, or why not, in one line that follows "ptc: ". */
export type Answered =
  | { readonly counts: true; readonly tool: string }
  | { readonly counts: false; readonly why: string };

export interface SlackAnswersOptions {
  settings: () => NotifySettings["slack"];
  /** The URL of the incoming webhook, and the signing secret. */
  readSecrets: () => Promise<{ url: string; signingSecret: string }>;
  /** Gives the first answer to a question, if this approver may. */
  answer: (answer: SlackAnswer) => Promise<Answered>;
  /** Milliseconds since 1970. */
  now: () => number;
  onWarning: (message: string) => void;
}

/** How old a request may be, and how far Slack's clock may differ from this machine's. */
const MAX_AGE_S = 300;
const REPLY_MS = 10_000;

const Payload = z.object({
  type: z.literal("block_actions"),
  user: z.object({ id: z.string(), username: z.optional(z.string()) }),
  actions: z.array(z.object({ action_id: z.string(), value: z.optional(z.string()) })).check(z.minLength(1)),
  response_url: z.string(),
});
type Payload = z.infer<typeof Payload>;

const ANSWERS = new Map<string, SlackAnswer["decision"]>([
  [APPROVE, "once"],
  [DENY, "denied"],
]);

/** Answers a request to `/notify/slack`, whose body the caller bounds. Slack waits three seconds, so the outcome is posted to Slack afterwards. */
export async function answerSlack(request: Request, options: SlackAnswersOptions): Promise<Response> {
  const settings = options.settings();
  if (settings?.signingSecret === undefined) return plain(404, "There is nothing here.");
  if (request.method !== "POST") return plain(405, "Slack posts here.");
  const body = await request.text();
  let secrets: Awaited<ReturnType<SlackAnswersOptions["readSecrets"]>>;
  try {
    secrets = await options.readSecrets();
  } catch (error) {
    options.onWarning(`notify.slack: ${messageOf(error)}`);
    return plain(503, "ptc cannot read its signing secret.");
  }
  if (!isSigned(request.headers, body, secrets.signingSecret, options.now()))
    return plain(401, "Slack has not signed this.");
  const payload = parsePayload(body);
  if (payload === undefined) return plain(400, "This is no answer to a question of ptc.");
  const replyTo = replyAddress(payload.response_url, secrets.url);
  void answerFor(payload, settings, options)
    .then((reply) => replyTo && post(replyTo, reply))
    .catch((error: unknown) =>
      options.onWarning(`notify.slack: an answer could not be given: ${messageOf(error)}`),
    );
  return new Response(null, { status: 200 });
}

/** Verifies a request as Slack signs it ("Verifying requests from Slack"). */
function isSigned(headers: Headers, body: string, signingSecret: string, nowMs: number): boolean {
  const at = headers.get("x-slack-request-timestamp") ?? "";
  if (!/^\d{1,12}$/.test(at) || Math.abs(nowMs / 1_000 - Number(at)) > MAX_AGE_S) return false;
  const wanted = Buffer.from(
    `v0=${createHmac("sha256", signingSecret).update(`v0:${at}:${body}`).digest("hex")}`,
  );
  const given = Buffer.from(headers.get("x-slack-signature") ?? "");
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

function parsePayload(body: string): Payload | undefined {
  try {
    return Payload.parse(JSON.parse(new URLSearchParams(body).get("payload") ?? ""));
  } catch {
    return undefined;
  }
}

/** Replies go only to the host that messages go to, whatever a request names. */
function replyAddress(text: string, webhook: string): URL | undefined {
  if (!URL.canParse(text) || !URL.canParse(webhook)) return undefined;
  const url = new URL(text);
  return url.origin === new URL(webhook).origin ? url : undefined;
}

async function answerFor(
  { user, actions: [action] }: Payload,
  { approvers }: NonNullable<NotifySettings["slack"]>,
  { answer }: SlackAnswersOptions,
): Promise<object> {
  const decision = ANSWERS.get(action?.action_id ?? "");
  const [, ticket, digest] = /^(\S{1,128}) (sha256:[0-9a-f]{64})$/.exec(action?.value ?? "") ?? [];
  if (decision === undefined || ticket === undefined || digest === undefined)
    return refusal("this button answers nothing");
  const approver = Object.hasOwn(approvers, user.id) ? approvers[user.id] : undefined;
  if (approver === undefined)
    return refusal(
      `you cannot answer here: your member ID ${user.id} is not in notify.slack.approvers of ptc.yaml`,
    );
  const { id: member, username } = user;
  const answered = await answer({ ticket, digest, decision, approver, member, username });
  if (!answered.counts) return refusal(answered.why);
  const text = `ptc: ${answered.tool} was ${decision === "once" ? "approved" : "denied"} by ${approver.principal}`;
  return { replace_original: true, text: plainOf(text) };
}

function refusal(why: string): object {
  return { response_type: "ephemeral", replace_original: false, text: plainOf(`ptc: ${why}`) };
}

async function post(url: URL, body: object): Promise<void> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: writeJson(body),
    redirect: "manual",
    signal: AbortSignal.timeout(REPLY_MS),
  });
  await answer.body?.cancel();
}

function plain(status: number, text: string): Response {
  return new Response(`${text}\n`, { status, headers: { "Content-Type": "text/plain; charset=utf-8" } });
}
