/** The most places of rounded numbers that a call names. A runner names the first ones. */
export const MAX_ROUNDED_PLACES = 16;
