/** The viewer, and the session that they look with. */
import { html, type Markup, renderTime } from "../../server/pages/page.ts";
import { BASE, type ConsolePage, type Frame, renderForm, renderHeading } from "../shell.ts";
import type { Rights } from "../viewer.ts";

/** @param passkeys the part of the page about the viewer's passkeys. */
export function renderMe(frame: Frame, rights: Rights, passkeys: Markup | undefined): ConsolePage {
  const { viewer, until } = frame.session;
  const groups = viewer.groups ?? [];
  const facts = [
    ["Name", viewer.name],
    ["Principal", html`<code>${viewer.principal}</code>`],
    ["Groups", groups.length === 0 ? "none" : groups.join(", ")],
    [
      "Sees runs",
      rights.runs === "all"
        ? "of everybody"
        : `of their own${rights.gate === undefined ? "" : ", and of others where a rule permits read_runs"}`,
    ],
    [
      "Sees the audit log",
      rights.audit === "all"
        ? "all of it"
        : `of their own${rights.audit === "own" ? "" : ", and all of it where a rule permits audit"}`,
    ],
    [
      "Answers questions",
      rights.approves
        ? rights.gate === undefined
          ? "those that wait for them"
          : "their own, and those of others where a rule permits approve"
        : "none here",
    ],
    ["Replays runs", rights.replays ? "those that they see" : "none here"],
    ["Session ends", renderTime(until)],
  ] as const;
  return {
    title: "Me",
    place: "me",
    header: renderHeading("Me"),
    main: html`<dl class="facts-list">${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
${passkeys}
<div class="actions">${renderForm(`${BASE}/logout`, frame, html`<button type="submit">Leave the console</button>`)}</div>`,
  };
}
