import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { NotifySettings } from "../../configuration/configuration.ts";
import { noticeOf } from "../../notify/notice.ts";
import { type Answered, answerSlack, type SlackAnswer, slackMessage } from "../../notify/slack.ts";
import { receive } from "./receiver.ts";

const SIGNING_SECRET = "8f742231b10e8888abcd99yyyzzz85a5";
const DIGEST = `sha256:${"1".repeat(64)}`;
const NOW = Date.UTC(2026, 0, 1);

const NOTICE = noticeOf(
  {
    ticket: "3f9a2c",
    digest: DIGEST,
    request: {
      runId: "r1",
      tool: "mcp__docs__<!channel>",
      definitionDigest: "d",
      arguments: { text: "<!channel> ```*x*" },
      argumentsDigest: "a",
    },
    context: { principal: "local", source: "serve" },
    program: { fileName: "program.ts", code: "<@U1>" },
    expiresAt: undefined,
  },
  undefined,
);

describe("a message", () => {
  test("shows what others choose only where Slack reads no markup", () => {
    const message = JSON.stringify(slackMessage(NOTICE, { hasButtons: true }));
    const { text, blocks } = JSON.parse(message);
    expect(text).toBe("ptc: mcp__docs__&lt;!channel&gt; needs an approval");
    const types = blocks.map(({ type }: { type: string }) => type);
    expect(types).toEqual(["rich_text", "rich_text", "rich_text", "rich_text", "actions"]);
    expect(JSON.stringify(blocks)).toContain("ptc approvals show 3f9a2c");
  });

  test("has buttons only where answers can be known, and a link where there is a page", () => {
    const actions = (notice: typeof NOTICE, hasButtons: boolean) => {
      const { blocks } = slackMessage(notice, { hasButtons }) as { blocks: { elements: object[] }[] };
      return JSON.stringify(blocks.at(-1)?.elements);
    };
    expect(actions(NOTICE, false)).not.toContain("button");
    expect(actions(NOTICE, true)).toContain(`"value":"3f9a2c ${DIGEST}"`);
    const linked = actions({ ...NOTICE, link: "https://ptc.example.com/x" }, false);
    expect(linked).toContain("https://ptc.example.com/x");
    expect(linked).not.toContain("ptc_approve");
  });

  test("is never longer than Slack takes", () => {
    const long = { ...NOTICE, arguments: "x".repeat(100_000), reason: "y".repeat(100_000) };
    const { blocks } = slackMessage(long, { hasButtons: false }) as { blocks: object[] };
    for (const block of blocks) expect(JSON.stringify(block).length).toBeLessThan(3_100);
  });
});

interface Pressed {
  user?: string;
  action?: string;
  value?: string;
  responseUrl?: string;
}

function bodyOf({ user = "U024BE7LH", action = "ptc_approve", value, responseUrl = "" }: Pressed): string {
  const payload = {
    type: "block_actions",
    user: { id: user, username: "ada" },
    actions: [{ action_id: action, value: value ?? `3f9a2c ${DIGEST}` }],
    response_url: responseUrl,
  };
  return `payload=${encodeURIComponent(JSON.stringify(payload))}`;
}

function signed(body: string, { at = NOW / 1_000, secret = SIGNING_SECRET } = {}): Request {
  const signature = `v0=${createHmac("sha256", secret).update(`v0:${at}:${body}`).digest("hex")}`;
  const headers = { "X-Slack-Request-Timestamp": String(at), "X-Slack-Signature": signature };
  return new Request("https://ptc.example.com/notify/slack", { method: "POST", headers, body });
}

const ADA = { principal: "https://login.example.com#ada" };

/** ptc as Slack reaches it, which gives these answers. */
async function slack(answered: Answered = { counts: true, tool: "mcp__docs__delete" }, now = NOW) {
  const { url, received } = await receive();
  const given: SlackAnswer[] = [];
  const warnings: string[] = [];
  const settings: NotifySettings["slack"] = {
    url,
    signingSecret: SIGNING_SECRET,
    approvers: { U024BE7LH: ADA },
  };
  const send = (request: Request) =>
    answerSlack(request, {
      settings: () => settings,
      readSecrets: async () => ({ url, signingSecret: SIGNING_SECRET }),
      answer: async (answer) => {
        given.push(answer);
        return answered;
      },
      now: () => now,
      onWarning: (message) => void warnings.push(message),
    });
  const told = async () => {
    await expect.poll(() => received.length).toBe(1);
    return JSON.parse(received[0]?.body ?? "");
  };
  return { url, send, given, told, received, warnings };
}

describe("an answer in Slack", () => {
  test.for<[string, string, string]>([
    ["ptc_approve", "once", "approved"],
    ["ptc_deny", "denied", "denied"],
  ])(
    "%s is given by the principal of who pressed, and the message says so",
    async ([action, decision, word]) => {
      const { url, send, given, told } = await slack();
      const { status } = await send(signed(bodyOf({ action, responseUrl: url })));
      expect(status).toBe(200);
      expect(await told()).toEqual({
        replace_original: true,
        text: `ptc: mcp__docs__delete was ${word} by ${ADA.principal}`,
      });
      expect(given).toEqual([
        {
          ...{ ticket: "3f9a2c", digest: DIGEST, decision, approver: ADA },
          ...{ member: "U024BE7LH", username: "ada" },
        },
      ]);
    },
  );

  test("of somebody who is no approver is refused to them alone", async () => {
    const { url, send, given, told } = await slack();
    await send(signed(bodyOf({ user: "U999", responseUrl: url })));
    expect(await told()).toMatchObject({
      response_type: "ephemeral",
      text: expect.stringContaining("U999 is not in notify.slack.approvers"),
    });
    expect(given).toEqual([]);
  });

  test("that a name of every object stands for is refused", async () => {
    const { url, send, given, told } = await slack();
    await send(signed(bodyOf({ user: "constructor", responseUrl: url })));
    expect(await told()).toMatchObject({ response_type: "ephemeral" });
    expect(given).toEqual([]);
  });

  test("that comes late says so to who gave it", async () => {
    const { url, send, told } = await slack({ counts: false, why: "this question waits no more" });
    await send(signed(bodyOf({ responseUrl: url })));
    expect(await told()).toMatchObject({
      response_type: "ephemeral",
      text: "ptc: this question waits no more",
    });
  });

  test.for(["3f9a2c", `3f9a2c ${DIGEST} x`, "3f9a2c sha256:1"])(
    "with another value answers nothing: %s",
    async (value) => {
      const { url, send, given, told } = await slack();
      await send(signed(bodyOf({ value, responseUrl: url })));
      expect(await told()).toMatchObject({ response_type: "ephemeral" });
      expect(given).toEqual([]);
    },
  );

  test("is told nowhere but where messages go", async () => {
    const { send, given, received } = await slack();
    const other = await receive();
    await send(signed(bodyOf({ responseUrl: other.url })));
    await expect.poll(() => given.length).toBe(1);
    expect([received, other.received]).toEqual([[], []]);
  });

  test.for<[string, Request, number]>([
    ["another secret", signed(bodyOf({}), { secret: "another" }), 401],
    ["a time long ago", signed(bodyOf({}), { at: NOW / 1_000 - 301 }), 401],
    ["a time to come", signed(bodyOf({}), { at: NOW / 1_000 + 301 }), 401],
    ["no signature", new Request("https://x/", { method: "POST", body: bodyOf({}) }), 401],
    ["another text", signed("payload=%7B%7D"), 400],
    ["no text", signed("payload=%7B"), 400],
    ["a GET", new Request("https://x/"), 405],
  ])("with %s is refused", async ([, request, status]) => {
    const { send, given } = await slack();
    expect((await send(request)).status).toBe(status);
    expect(given).toEqual([]);
  });

  // The example of "Verifying requests from Slack".
  const EXAMPLE =
    "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";

  test.for([
    ["as it is", EXAMPLE, 400],
    ["changed", EXAMPLE.replace("roadrunner", "coyote"), 401],
  ] as const)("is verified as Slack's documentation does: %s", async ([, body, status]) => {
    const { send } = await slack(undefined, 1_531_420_618_000);
    const headers = {
      "X-Slack-Request-Timestamp": "1531420618",
      "X-Slack-Signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    };
    const request = new Request("https://x/", { method: "POST", headers, body });
    expect((await send(request)).status).toBe(status);
  });

  test("is not taken where no signing secret is configured", async () => {
    const request = signed(bodyOf({}));
    const { status } = await answerSlack(request, {
      settings: () => undefined,
      readSecrets: async () => ({ url: "", signingSecret: "" }),
      answer: async () => ({ counts: false, why: "" }),
      now: () => NOW,
      onWarning: () => {},
    });
    expect(status).toBe(404);
  });
});
