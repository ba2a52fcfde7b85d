import type { NotifySettings } from "./configuration.ts";
import type { Problem } from "./configuration-error.ts";
import { type EntrySurroundings, secretOf } from "./outside-values.ts";
import type { Settings } from "./settings/settings.ts";

type Given = Settings["notify"];

/** Problems of `notify`, whose keys and types are valid by the schema. */
export function findNotifyProblems({ slack }: Given): Problem[] {
  const { signing_secret: signingSecret, approvers = {} } = slack ?? {};
  const members = Object.keys(approvers);
  if (signingSecret !== undefined && members.length === 0)
    return [
      {
        path: ["notify", "slack", "signing_secret"],
        message: "needs `approvers` beside it, which says who may press the buttons",
      },
    ];
  if (signingSecret === undefined && members.length > 0)
    return [
      {
        path: ["notify", "slack", "approvers"],
        message: "says nothing without `signing_secret`, by which answers of Slack are known",
      },
    ];
  return [];
}

export function buildNotify(given: Given, surroundings: EntrySurroundings): NotifySettings {
  const { webhook, slack, command } = given;
  const secretAt = (entry: Parameters<typeof secretOf>[0], ...path: string[]) =>
    secretOf(entry, ["notify", ...path], surroundings);
  const off = surroundings.offOf(["notify"]);
  const [program, ...args] = command ?? [];
  return {
    webhook: webhook && {
      url: secretAt(webhook.url, "webhook", "url") ?? "",
      secret: secretAt(webhook.secret, "webhook", "secret") ?? "",
    },
    slack: slack && {
      url: secretAt(slack.url, "slack", "url") ?? "",
      signingSecret: secretAt(slack.signing_secret, "slack", "signing_secret"),
      approvers: Object.fromEntries(
        Object.entries(slack.approvers ?? {}).map(([member, approver]) => [
          member,
          typeof approver === "string" ? { principal: approver } : approver,
        ]),
      ),
    },
    command: program === undefined ? undefined : [program, ...args],
    afterMs: given.after_seconds * 1_000,
    ...(off === undefined ? {} : { off }),
  };
}

/** The secrets that stand in the settings themselves. */
export function notifySecrets({ webhook, slack }: NotifySettings): string[] {
  return [webhook?.url, webhook?.secret, slack?.url, slack?.signingSecret].filter(
    (each) => typeof each === "string",
  );
}
