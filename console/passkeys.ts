/** The passkeys of a viewer in the console: the passkey part of a form, and their section of the page Me. */
import type { RequiredProof } from "../broker/approvals/approvals.ts";
import { type CeremonyAnswer, type Passkey, PasskeyError, type Passkeys } from "../logins/passkeys.ts";
import { html, type Markup, renderSection, renderTime } from "../server/pages/page.ts";
import { BASE, type Frame, renderForm } from "./shell.ts";
import type { Viewer } from "./viewer.ts";

/**
 * The attributes of a form that `assets/passkeys.js` sends with a passkey.
 *
 * @param use the address that begins the use of a passkey; none for a first passkey.
 * @param offer the address that begins a registration, for the form that registers one.
 */
export function usesPasskey(use: string | undefined, offer?: string): Markup {
  const at = use === undefined ? undefined : html` data-use="${use}"`;
  return html` data-passkey${at}${offer === undefined ? undefined : html` data-offer="${offer}"`}`;
}

/** The element in which a form reports the outcome of its passkey. */
export const PASSKEY_SAID = html`<p class="soft" data-said role="alert"></p><noscript><p class="soft">A passkey needs JavaScript.</p></noscript>`;

/** The passkey part of a form; `undefined` if the form was sent without one. */
export function ceremonyAnswerIn(form: URLSearchParams): CeremonyAnswer | undefined {
  const [sealed, response] = [form.get("sealed"), form.get("response")];
  return sealed === null || response === null ? undefined : { sealed, response };
}

interface OwnForm {
  readonly viewer: Viewer;
  readonly form: URLSearchParams;
}

const NOTICES: Readonly<Record<string, string>> = {
  added: "The passkey was registered.",
  removed: "The passkey was removed.",
};

/** Operations of viewers on their own passkeys. Methods reject with a PasskeyError. */
export class PasskeyPages {
  readonly #passkeys: Passkeys;
  readonly #required: () => RequiredProof;

  constructor(passkeys: Passkeys, required: () => RequiredProof) {
    this.#passkeys = passkeys;
    this.#required = required;
  }

  /** Begins the use of a passkey for a change of passkeys. */
  askForUse({ viewer, form }: OwnForm): Promise<object> {
    const credential = form.get("credential");
    const use = credential === null ? { kind: "add" as const } : { kind: "remove" as const, credential };
    return this.#passkeys.ask(viewer.principal, use);
  }

  /** Begins a registration. */
  offer({ viewer, form }: OwnForm): Promise<object> {
    return this.#passkeys.offer(viewer, ceremonyAnswerIn(form));
  }

  /** @returns the page that the browser goes on to. */
  async register({ viewer, form }: OwnForm): Promise<string> {
    await this.#passkeys.register(viewer.principal, needed(form));
    return `${BASE}/me?done=added`;
  }

  /** @returns the page that the browser goes on to. */
  async remove({ viewer, form }: OwnForm): Promise<string> {
    await this.#passkeys.remove(viewer.principal, needed(form));
    return `${BASE}/me?done=removed`;
  }

  /** The part of a page; `undefined` where no passkey can be used and none is needed. */
  async render(frame: Frame, done: string): Promise<Markup | undefined> {
    const { whyNone } = this.#passkeys;
    const isNeeded = this.#required() === "passkey";
    if (whyNone !== undefined && !isNeeded) return undefined;
    const passkeys = await this.#passkeys.list(frame.session.viewer.principal);
    const notice = NOTICES[done] && html`<p class="notice" role="status">${NOTICES[done]}</p>`;
    const about = isNeeded
      ? "Approvals here need one of these (approvals.require: passkey)."
      : "They approve calls where approvals.require is passkey.";
    const list =
      passkeys.length === 0
        ? html`<p class="soft">You have none. Register the first yourself, before an agent runs: anybody who has this session can.</p>`
        : html`<ul class="plain">${passkeys.map((passkey) => renderPasskey(passkey, frame))}</ul>`;
    return renderSection(
      "passkeys",
      "Passkeys",
      html`${notice}<p>${about}</p>${list}${whyNone === undefined ? renderAdding(passkeys, frame) : html`<p class="soft">None can be registered: ${whyNone}.</p>`}`,
    );
  }
}

function needed(form: URLSearchParams): CeremonyAnswer {
  const given = ceremonyAnswerIn(form);
  if (given === undefined) throw new PasskeyError("the browser sent no answer of a passkey");
  return given;
}

const USE = `${BASE}/me/passkeys/use`;

function renderPasskey({ id, addedAt }: Passkey, frame: Frame): Markup {
  const remove = renderForm(
    `${BASE}/me/passkeys/remove`,
    frame,
    html`<input type="hidden" name="credential" value="${id}"><button type="submit">Remove<span class="unseen"> passkey ${id}</span></button>${PASSKEY_SAID}`,
    usesPasskey(USE),
  );
  return html`<li><code>${id}</code> <span class="soft">registered ${renderTime(addedAt)}</span>${remove}</li>`;
}

function renderAdding(passkeys: readonly Passkey[], frame: Frame): Markup {
  const isFirst = passkeys.length === 0;
  const text = isFirst ? "Register a passkey" : "Register another, confirmed with one that you have";
  return renderForm(
    `${BASE}/me/passkeys`,
    frame,
    html`<button type="submit" id="add-passkey">${text}</button>${PASSKEY_SAID}`,
    usesPasskey(isFirst ? undefined : USE, `${BASE}/me/passkeys/offer`),
  );
}
