/** The keys of `notify`: who is told of questions that wait, and how. */
import * as z from "zod";
import { expanded, list, mapping, secret, section, setting, text, wholeNumber } from "./declare.ts";
import { secretValue } from "./server-settings.ts";

/** An id of a member of a Slack workspace. */
const MEMBER = /^[UW][A-Z0-9]{2,20}$/;

const Approver = z.union(
  [
    text(512),
    mapping(() => ({ principal: text(512), groups: list(text(256)) }), "must have `principal` and `groups`"),
  ],
  { error: "must be a principal, or a mapping with `principal` and `groups`" },
);

export const Notify = section(() => ({
  webhook: setting(
    mapping(
      () => ({
        url: setting(
          expanded(secret(secretValue(text(8_192)))),
          "the URL that receives each question as JSON; https, or http on this machine; a value as for `servers[].env`",
        ),
        secret: setting(
          expanded(secret(secretValue(text(1_024)))),
          "the key that signs it (Standard Webhooks): `whsec_` and 24 to 64 bytes in base64; a value as for `servers[].env`",
        ),
      }),
      "must be a mapping with `url` and `secret`",
    ).optional(),
  ),
  slack: setting(
    mapping(
      () => ({
        url: setting(
          expanded(secret(secretValue(text(8_192)))),
          "the incoming webhook of a Slack app; a value as for `servers[].env`",
        ),
        signing_secret: setting(
          expanded(secret(secretValue(text(1_024)).optional())),
          "the app's signing secret: messages then have buttons, whose answers Slack posts to `/notify/slack` of `ptc serve --http`; a value as for `servers[].env`",
        ),
        approvers: setting(
          z
            .record(z.string().regex(MEMBER), Approver, {
              error: ({ code }) =>
                code === "invalid_key"
                  ? "is no member ID of Slack, such as U024BE7LH"
                  : "must be a mapping of member IDs of Slack to principals",
            })
            .optional(),
          "who may answer in Slack: maps member IDs to principals, such as `U024BE7LH: https://login.example.com#ada`, or to `principal` and `groups`. They may answer their own questions, and those that a rule permits them to `approve`. Without `groups`, a rule that forbids something to a group known only from logins applies to them",
        ),
      }),
      "must be a mapping with `url`",
    ).optional(),
  ),
  command: setting(
    list(text(4_096)).min(1, { error: "must have at least the program" }).optional(),
    "a program and its arguments, run for each question, which it reads as JSON from standard input",
  ),
  after_seconds: setting(
    wholeNumber(0, 86_400).default(10),
    "how long a question waits in a client before ptc notifies others; for a suspended run, ptc notifies at once",
  ),
}));
