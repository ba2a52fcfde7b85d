import { describe, expect, it } from "vitest";
import { unknownFlowNames } from "../../configuration/flow-names.ts";
import { unacceptedLabels, unknownAcceptedLabels } from "../../configuration/policy/label-warnings.ts";
import { serversOf } from "../catalog/tool-of.ts";
import { parse } from "./parse-text.ts";

const text = { type: "string" };
const all = {
  servers: serversOf({
    mail: [
      {
        name: "send",
        inputSchema: {
          type: "object",
          properties: {
            to: { type: "array", items: { $ref: "#/$defs/person" } },
            cc: { type: "object", additionalProperties: true, properties: { name: text } },
            body: text,
          },
          $defs: { person: { type: "object", properties: { name: text, email: text } } },
        },
      },
      {
        name: "search",
        inputSchema: { type: "object", properties: { query: text } },
        outputSchema: {
          type: "object",
          properties: { messages: { type: "array", items: { type: "object", properties: { body: text } } } },
        },
      },
      { name: "wipe", inputSchema: { type: "object", properties: {}, additionalProperties: false } },
      { name: "any" },
    ],
  }),
};

function unknown(tools: string, more = "") {
  const configuration = parse(`servers:
  - name: mail
    command: x
    tools:
      ${tools}
${more}`);
  return unknownFlowNames(configuration, all).map(({ file, line, message }) => `${file}:${line}: ${message}`);
}

describe("names of arguments and fields", () => {
  it.each([
    "send: { accepts: { to: [], to.email: [], '()': [], '*': [] } }",
    "send: { accepts: { 'cc.anything': [] } }",
    "any: { accepts: { recipent: [] }, results: { bdy: [a] } }",
    "search: { results: { 'messages[].body': [a], messages.body: [], '*': [] } }",
    "search: { labels: [{ label: a, unless: { query: x } }] }",
    "gone: { accepts: { x: [] } }",
  ])("are right, or cannot be known: %s", (tools) => {
    expect(unknown(tools)).toEqual([]);
  });

  it.each([
    [
      "send: { accepts: { recipent: [], bdy: [] } }",
      [
        "servers[0].tools.send.accepts: 'mail.send' has no argument 'recipent', so that it guards nothing; it has to, cc, body",
        "servers[0].tools.send.accepts: 'mail.send' has no argument 'bdy', so that it guards nothing; did you mean 'body'?",
      ],
    ],
    [
      "send: { accepts: { 'to.mail': [] } }",
      [
        "servers[0].tools.send.accepts: 'mail.send' has no argument 'to.mail', so that it guards nothing; did you mean 'email'?",
      ],
    ],
    [
      "wipe: { accepts: { path: [] } }",
      [
        "servers[0].tools.wipe.accepts: 'mail.wipe' has no argument 'path', so that it guards nothing; it has none",
      ],
    ],
    [
      "search: { labels: [{ label: a, when: { qery: x } }] }",
      [
        "servers[0].tools.search.labels[0].when: 'mail.search' has no argument 'qery', so that it guards nothing; did you mean 'query'?",
      ],
    ],
    [
      "search: { results: { 'messages[].text': [a] } }",
      [
        "servers[0].tools.search.results: 'mail.search' has no field in its results 'messages[].text', so that it guards nothing; it has body",
      ],
    ],
  ])("are wrong, and said to guard nothing: %s", (tools, wanted) => {
    expect(unknown(tools)).toEqual(wanted.map((each) => `ptc.yaml:5: ${each}`));
  });

  it("may be those of any tool where they are a server's", () => {
    const whole = (accepts: string) =>
      unknownFlowNames(parse(`servers: [{ name: mail, command: x, accepts: { ${accepts} } }]`), {
        servers: all.servers.map((server) => ({ ...server, tools: server.tools.slice(0, 3) })),
      }).map(({ message }) => message);
    expect(whole("query: [], body: []")).toEqual([]);
    expect(whole("adress: []")).toEqual([
      expect.stringContaining(
        "no tool of 'mail' has an argument 'adress', so that it guards nothing; it has to",
      ),
    ]);
  });
});

describe("labels that are not accepted", () => {
  const configuration = (refused: string) =>
    parse(`servers:
  - { name: files, command: x, labels: [listing] }
  - name: mail
    command: x
    labels: [untrusted]
    tools:
      send: { accepts: { to: [], "*": [untrusted] } }
      search: { accepts: { query: [untrusted] } }
      wipe: { accepts: { "()": [] } }
      any: { accepts: [untrusted] }
labels: { refused: ${refused} }`);

  it("are named with the number of the tools that accept others", () => {
    expect(unacceptedLabels(configuration("ask"), all)).toEqual([
      "'listing' data will be in conversations of these servers, and 3 tools that accept other data do not accept it (mail.send, mail.search, mail.any): such calls are asked about; add the label where that is not meant",
    ]);
    expect(unacceptedLabels(configuration("deny"), { servers: [] })[0]).toContain("such calls are refused");
  });

  it("are mistakes where nothing carries them", () => {
    const wrong = parse(`servers:
  - { name: mail, command: x, labels: [untrusted], accepts: [untrused], tools: { a: { accepts: { b: { labels: [secret] } } } } }`);
    expect(unknownAcceptedLabels(wrong).map(({ message }) => message)).toEqual([
      "accepts of mail: nothing carries the label 'untrused'; did you mean 'untrusted'?",
      "accepts of mail.a: nothing carries the label 'secret'",
    ]);
  });
});
