import { describe, expect, it } from "vitest";
import { describeSampling, parseSampling } from "../../../broker/elicitation/sampling.ts";

const SECRET = "hunter2@vault.example";
const redact = (text: string) => text.replaceAll(SECRET, "[REDACTED]");
const user = (content: object) => ({ role: "user", content });

describe("a server's request for an answer of the client's model", () => {
  it("is passed on without secrets, wherever they stand, and without members that are unknown", () => {
    const read = parseSampling(
      {
        messages: [
          user({ type: "text", text: SECRET }),
          user({ type: "image", data: "AA==", mimeType: `image/${SECRET}` }),
        ],
        ...{ systemPrompt: SECRET, maxTokens: 5, stopSequences: [SECRET, 1, "END"] },
        modelPreferences: {
          ...{ hints: [{ name: SECRET, note: SECRET }, SECRET], costPriority: 0.2, speedPriority: SECRET },
          ...{ note: SECRET, [SECRET]: 1 },
        },
      },
      redact,
    );
    expect(JSON.stringify(read)).not.toContain(SECRET);
    expect(read).toMatchObject({
      ok: true,
      sampling: { stopSequences: ["[REDACTED]", "END"] },
    });
    expect(read.ok && read.sampling.modelPreferences).toEqual({
      hints: [{ name: "[REDACTED]" }],
      costPriority: 0.2,
    });
  });

  it("is shown to a person up to 12,000 characters, with how many there are more", () => {
    const shown = (text: string) =>
      describeSampling({
        messages: [{ role: "user", content: { type: "text", text } }],
        ...{ maxTokens: 5, stopSequences: ["END"] },
      });
    expect(shown("What?")).toMatch(/\nuser: What\?\nstops at: END$/);
    const said = "user: \nstops at: END".length;
    const all = "x".repeat(12_000 - said);
    expect(shown(all)).toContain(all);
    expect(shown(all)).not.toContain("more characters");
    expect(shown(`${all}${"y".repeat(500)}`)).toMatch(/ \.\.\. \(500 more characters\)$/);
  });
});
