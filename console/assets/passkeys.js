// A form with `data-passkey` is sent with what an authenticator says. The server says what it is asked, and decides what that counts.
(() => {
  const { startAuthentication, startRegistration } = globalThis.SimpleWebAuthnBrowser;

  document.addEventListener("submit", (event) => {
    const { target: form, submitter } = event;
    if (form.dataset.passkey === undefined || submitter?.value === "denied") return;
    event.preventDefault();
    void send(form, submitter);
  });

  async function send(form, submitter) {
    const said = form.querySelector("[data-said]");
    said.textContent = "Use your passkey…";
    try {
      if (submitter?.name) put(form, submitter.name, submitter.value);
      const { use, offer } = form.dataset;
      if (use !== undefined) {
        const { options, sealed } = await begin(use, form);
        const response = await startAuthentication({ optionsJSON: options });
        put(form, "sealed", sealed);
        put(form, "response", JSON.stringify(response));
      }
      if (offer !== undefined) {
        const { options, sealed } = await begin(offer, form);
        const response = await startRegistration({ optionsJSON: options });
        put(form, "sealed", sealed);
        put(form, "response", JSON.stringify(response));
      }
      form.submit();
    } catch (error) {
      for (const each of form.querySelectorAll("[data-put]")) each.remove();
      said.textContent =
        error.name === "NotAllowedError" ? "No passkey was used; nothing was sent." : `${error.message}.`;
    }
  }

  function put(form, name, value) {
    let input = form.querySelector(`input[data-put][name="${name}"]`);
    if (input === null) {
      input = document.createElement("input");
      input.type = "hidden";
      input.name = name;
      input.dataset.put = "";
      form.append(input);
    }
    input.value = value;
  }

  async function begin(address, form) {
    const answer = await fetch(address, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    const said = await answer
      .json()
      .catch(() => ({ why: "The console did not answer; load the page again" }));
    if (answer.ok) return said;
    throw new Error(said.why);
  }
})();
