/** A use case refuses what a user asks for. The message is one line that says what is wrong and what to do. */
export class Refusal extends Error {
  override readonly name = "Refusal";
}
