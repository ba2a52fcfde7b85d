import { createHash, randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { Redactor } from "../../secrets/redaction.ts";
import { SECRETLINT_SHAPES } from "../../secrets/token-shapes-secretlint.ts";

const redactor = new Redactor([]);

/** `length` letters and digits that begin with a letter. */
const mixed = (length: number) => "aB3dE5fG7h".repeat(Math.ceil(length / 10)).slice(0, length);
const letters = (length: number) => "abCdE".repeat(Math.ceil(length / 5)).slice(0, length);
const digits = (length: number) => "1234567890".repeat(Math.ceil(length / 10)).slice(0, length);
const hex = (length: number) => "0a1b2c3d".repeat(Math.ceil(length / 8)).slice(0, length);

/** One of each shape, put together here so that no scanner takes this file for a leak. */
const TOKENS: readonly [kind: string, anchor: string, rest: string][] = [
  ["aws-token", "AKIA", "ABCDEFGH23456789"],
  ["aws-token", "ASIA", "ABCDEFGH23456789"],
  ["npm-token", "npm_", mixed(36)],
  ["slack-token", "xoxb-", `${digits(12)}-${digits(12)}-${mixed(24)}`],
  ["slack-token", "xapp-", `1-${mixed(10)}-${digits(12)}-${mixed(24)}`],
  ["slack-token", "https://hooks.slack.com/services/T", `${mixed(8)}/B${mixed(8)}/${mixed(24)}`],
  ["shopify-token", "shpat_", hex(32)],
  ["stripe-token", "sk_live_", mixed(24)],
  ["stripe-token", "rk_test_", mixed(24)],
  ["github-token", "ghp_", mixed(36)],
  ["github-token", "github_pat_", mixed(82)],
  ["github-token", "ghs_", `${digits(7)}_${mixed(20)}.${mixed(300)}.${mixed(43)}`],
  ["gitlab-token", "glpat-", mixed(20)],
  ["grafana-token", "glc_", `${mixed(60)}==`],
  ["grafana-token", "glsa_", `${mixed(32)}_${hex(8)}`],
  ["openai-token", "sk-proj-", `${mixed(74)}T3BlbkFJ${mixed(74)}`],
  ["openai-token", "sk-", `${mixed(20)}T3BlbkFJ${mixed(20)}`],
  ["anthropic-token", "sk-ant-api0", `3-${mixed(93)}AA`],
  ["anthropic-token", "sk-ant-", `oat01-${mixed(95)}`],
  ["groq-token", "gsk_", mixed(52)],
  ["huggingface-token", "hf_", letters(34)],
  ["linear-token", "lin_api_", mixed(40)],
  ["notion-token", "ntn_", `${digits(11)}${mixed(35)}`],
  ["1password-token", "ops_", `ey${mixed(200)}fQ==`],
  ["hashicorp-vault-token", "hvs.", mixed(95)],
  ["hashicorp-vault-token", "hvb.", mixed(150)],
  ["hashicorp-vault-token", "hvr.", mixed(95)],
  ["vercel-token", "vcp_", mixed(40)],
  ["databricks-token", "dapi", hex(32)],
  ["docker-token", "dckr_pat_", mixed(27)],
  ["figma-token", "figd_", mixed(43)],
  ["cloudflare-token", "cfut_", `${mixed(40)}${hex(8)}`],
  ["tailscale-token", "tskey-", `auth-${mixed(17)}-${mixed(32)}`],
  ["google-api-key", "AIza", mixed(35)],
  ["google-token", "GOCSPX-", mixed(28)],
  ["google-token", "ya29.", mixed(160)],
  ["pypi-token", "pypi-AgE", `IcHlwaS5vcmc${mixed(120)}`],
  ["sendgrid-token", "SG.", `${mixed(22)}.${mixed(43)}`],
  ["jwt", "eyJ", `hbGciOiJIUzI1NiJ9.eyJ${mixed(60)}.${mixed(43)}`],
];

const PEM = [
  "-----BEGIN RSA PRIVATE ",
  "KEY-----\n",
  `${mixed(64)}\n`.repeat(20),
  `${mixed(30)}=\n-----END RSA PRIVATE KEY-----`,
].join("");

describe("tokens that tell by their form what they are", () => {
  test.each(TOKENS)("%s: %s...", (kind, anchor, rest) => {
    const token = anchor + rest;
    const marker = `[REDACTED:${kind}]`;
    for (const [before, after] of [
      ["", ""],
      ["see ", " there"],
      ['{"token":"', '"}'],
      ["a\\n", "\\nb"],
      ["?t%3D", "&x=1"],
      ["\u0000é", "中"],
    ]) {
      const value = `${before}${marker}${after}`;
      expect(redactor.redactText(`${before}${token}${after}`)).toEqual({ value, count: 1 });
    }
    expect(redactor.redactText(`word${token}`).count).toBe(0);
    expect(redactor.redactText(marker)).toEqual({ value: marker, count: 0 });
  });

  test("every shape of the preset has one here", () => {
    const kinds = new Set(TOKENS.map(([kind]) => kind));
    expect(SECRETLINT_SHAPES.filter(({ kind }) => !kinds.has(kind))).toEqual([]);
    expect(SECRETLINT_SHAPES.length).toBeGreaterThan(20);
  });

  test("private keys, whole or cut off, as they are or in JSON, without what stands around them", () => {
    const marker = "[REDACTED:private-key]";
    expect(redactor.redactText(`a\n${PEM}\nb`).value).toBe(`a\n${marker}\nb`);
    const json = redactor.redactText(JSON.stringify({ key: PEM, more: 1 })).value;
    expect(json).toBe(`{"key":"${marker}","more":1}`);
    const cut = redactor.redactText(`${PEM.slice(0, 700)}\nand so on, for ever`).value;
    expect(cut).toMatch(/^\[REDACTED:private-key\].*, for ever$/s);
    expect(redactor.redactText(`${PEM}\n${PEM}`).count).toBe(2);
  });

  test("the secret part of an AWS key alone", () => {
    const key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY".slice(0, 40);
    const texts = ['{\\"SecretAccessKey\\": \\"*\\"}', "export AWS_SECRET_ACCESS_KEY=*\n"];
    for (const text of texts) {
      const { value } = redactor.redactText(text.replace("*", key));
      expect(value).toBe(text.replace("*", "[REDACTED:aws-secret-key]"));
    }
  });

  test("nothing that is only random, long or near", () => {
    const image = Buffer.from(
      Array.from({ length: 200_000 }, (_, index) => (index * index * 31 + index * 17) & 255),
    );
    const text = [
      createHash("sha1").update("x").digest("hex"),
      createHash("sha256").update("x").digest("hex"),
      createHash("sha512").update("x").digest("base64"),
      randomUUID(),
      image.toString("base64"),
      image.toString("base64url"),
      `arn:aws:iam::${digits(12)}:user/AIDA${"ABCDEFGH23456789"}`,
      "task-based risk-free disk-image sk-learn hf_model eyJustAName SG.config.value",
      "-----BEGIN PRIVATE KEY----- is how a key begins, and -----BEGIN CERTIFICATE----- is none",
      `-----BEGIN PUBLIC KEY-----\n${mixed(64)}\n-----END PUBLIC KEY-----`,
      `ghp_${mixed(30)} npm_config_cache AKIAlower xoxb-`,
    ].join("\n");
    expect(redactor.redactText(text)).toEqual({ value: text, count: 0 });
  });
});

describe("texts made to be slow", () => {
  const others = ["-----BEGIN ", "ecret_access_key=", "-----BEGIN PRIVATE KEY-----\n"];
  const anchors = new Set([...TOKENS.map(([, anchor]) => anchor), ...others]);
  test.each([...anchors])("of %j are searched in linear time", (anchor) => {
    const chars = 100_000;
    for (const unit of [
      anchor,
      ` ${anchor}`,
      `${anchor}a.`,
      ` ${anchor}a-`,
      ` ${anchor}a.eyJa.`,
      ` ${anchor}1_${"a".repeat(900)}.`,
      `${anchor}${"a".repeat(5_000)}\n`,
    ]) {
      const text = unit.repeat(Math.ceil(chars / unit.length));
      redactor.redactText(text);
      const stream = redactor.stream();
      for (let at = 0; at < text.length; at += 50_000) stream.push(text.slice(at, at + 50_000));
      stream.end();
    }
    redactor.redactText(anchor + "a".repeat(chars));
  });
});

describe("the password of a URL", () => {
  test.each([
    ["https://user:hunter2@host/x", "https://user:[REDACTED:url-password]@host/x"],
    ["redis://:pw@host:6379/0", "redis://:[REDACTED:url-password]@host:6379/0"],
    ["db=postgres://u:p%40ss@db/x, and more", "db=postgres://u:[REDACTED:url-password]@db/x, and more"],
    ["http://a:1@b http://c:2@d", "http://a:[REDACTED:url-password]@b http://c:[REDACTED:url-password]@d"],
  ])("in %s is replaced, alone", (text, redacted) => {
    expect(redactor.redactText(text).value).toBe(redacted);
    expect(redactor.redactText(redacted)).toEqual({ value: redacted, count: 0 });
    const stream = redactor.stream();
    expect([...text].map((character) => stream.push(character)).join("") + stream.end()).toBe(redacted);
  });

  test.each([
    "http://localhost:8080/a@b",
    "https://host:80?x=1@y",
    "ssh://git@host:22/x",
    "git@github.com:a/b",
    "mail a:b@c.de",
    "https://user:${PASSWORD}@host",
    "https://user:<password>@host",
    "mysql://user:password@host",
    "postgres://user:pass@10.0.0.1",
  ])("is not seen in %s", (text) => {
    expect(redactor.redactText(text)).toEqual({ value: text, count: 0 });
  });
});
