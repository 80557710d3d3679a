// Made from the definition of the options: qr-service/options/tests/files.rs.

/** What to encode, and how to draw it. `text` or `data` is required. */
export interface QrOptionsOfService {
  /** The text to encode, as UTF-8. */
  text?: string | null;
  /** Bytes to encode instead of a text: Base64 by RFC 4648, either alphabet, padded or not. */
  data?: string | null;
  /** The kind of symbol. */
  kind?: 'qr' | 'micro' | 'rmqr' | null;
  /**
   * Error correction level. The default is M. Micro QR has L, M and Q, and uses any of them by default; rMQR has
   * M and H.
   */
  level?: 'L' | 'M' | 'Q' | 'H' | null;
  /** Raises the level as far as the version has room for it. Only for `qr`. */
  boost?: boolean | null;
  /** The smallest version allowed: 1 to 40, for Micro QR 1 to 4. */
  version_min?: number | null;
  /** The largest version allowed. */
  version_max?: number | null;
  /** Height of an rMQR symbol in modules: 7, 9, 11, 13, 15 or 17. The default is the size with the smallest area. */
  rmqr_height?: number | null;
  /** Width of an rMQR symbol in modules: 27, 43, 59, 77, 99 or 139. */
  rmqr_width?: number | null;
  /** Mask pattern: 0 to 7, for Micro QR 0 to 3. The default is the one with the best score. */
  mask?: number | null;
  /** Mode of the data. `auto` mixes modes to take the fewest bits; `auto-kanji` uses Kanji mode as well. */
  mode?: 'auto' | 'numeric' | 'alphanumeric' | 'byte' | 'kanji' | 'auto-kanji' | null;
  /**
   * ECI assignment number that declares the encoding of the data: 26 is UTF-8, 20 is Shift JIS, which Kanji mode
   * uses. Old readers print this header as text.
   */
  eci?: number | null;
  /** Declares the data as GS1 element strings, with the character 0x1D as separator. Only for `qr`. */
  gs1?: boolean | null;
  /**
   * Splits data that is too long for one symbol of `version_max` into up to 16 symbols (structured append),
   * and draws the symbol with this number, counted from 1. Only for `qr`.
   */
  part?: number | null;
  /** The format. In the service, the path's extension or `Accept` can choose it too. The default is `png`. */
  format?: 'png' | 'svg' | 'pdf' | 'eps' | 'txt' | 'json' | 'zpl' | 'epl' | null;
  /** Quiet zone in modules. The default is the standard's: 4, for Micro QR and rMQR 2. */
  margin?: number | null;
  /**
   * Width in pixels, for `png` and `svg`. In a PNG all modules have the same whole number of pixels, and the
   * symbol is centred.
   */
  size?: number | null;
  /**
   * Pixels per module instead of `size`, for `png` and `svg`. The default is 8 for `png`. An `svg` has no
   * size by default: it fills the space that the page gives it. For `zpl` and `epl` dots per module instead of
   * `width_mm`.
   */
  scale?: number | null;
  /**
   * Compression of a `png`. `smallest` uses Zopfli up to a width of about 570 pixels, which takes up to 0.3 s;
   * it excludes shapes, a logo and a caption.
   */
  compression?: 'fast' | 'smallest' | null;
  /**
   * Width in millimetres with the quiet zone, for `pdf` and `eps`. For `zpl` and `epl` the most, because modules
   * have whole dots.
   */
  width_mm?: number | null;
  /** Dots per inch of a label printer, for `zpl` and `epl`: 203, 300 or 600; for `epl` 203 or 300. */
  dpi?: number | null;
  /**
   * Colour of the dark modules, for `png`, `svg`, `pdf` and `eps`: 3, 4, 6 or 8 hexadecimal digits, with or
   * without `#`; with 4 or 8 digits the last ones are the opacity. For `pdf` and `eps` also inks in per cent,
   * such as `cmyk(100,70,0,30)`; there the default is black ink alone.
   */
  dark?: string | null;
  /**
   * Colour of the light modules and the quiet zone. `transparent` or `0000` draws no background, which is the
   * default for `pdf` and `eps`.
   */
  light?: string | null;
  /** Shape of the modules, for `png`, `svg`, `pdf` and `eps`. Only for `qr`. */
  shape?: 'square' | 'dots' | 'rounded' | null;
  /** Shape of the three finder patterns, for `png`, `svg`, `pdf` and `eps`. Only for `qr`. */
  finder_shape?: 'square' | 'rounded' | 'circle' | null;
  /** Colour of the finder patterns, if it is not that of the dark modules. */
  finder_color?: string | null;
  /** Colour of the finder pattern at the top left, instead of `finder_color`. */
  top_left_color?: string | null;
  /** Shape of the finder pattern at the top left, instead of `finder_shape`. */
  top_left_shape?: 'square' | 'rounded' | 'circle' | null;
  /** Colour of the finder pattern at the top right. */
  top_right_color?: string | null;
  /** Shape of the finder pattern at the top right. */
  top_right_shape?: 'square' | 'rounded' | 'circle' | null;
  /** Colour of the finder pattern at the bottom left. */
  bottom_left_color?: string | null;
  /** Shape of the finder pattern at the bottom left. */
  bottom_left_shape?: 'square' | 'rounded' | 'circle' | null;
  /** Colour to which `dark` changes across the symbol, for `png`, `svg` and `pdf`. Only for `qr`. */
  gradient_color?: string | null;
  /** The way from `dark` to `gradient_color`. */
  gradient?: 'linear' | 'radial' | null;
  /** Direction of a linear gradient in degrees: 0 is to the right, 90 is down. */
  gradient_angle?: number | null;
  /** A line around the quiet zone in the dark colour, which also holds the caption, in the light one. Only for `qr`. */
  frame?: 'square' | 'rounded' | null;
  /**
   * Colour of what is below the picture, by which transparent colours are judged. With it, `dark=transparent`
   * leaves the dark modules out, so that a dark page shows through.
   */
  background?: string | null;
  /** The characters of `txt`: half blocks, or ASCII. */
  style?: 'blocks' | 'ascii' | null;
  /** The modules to draw as characters in `txt`: `light` for a dark terminal, `dark` for paper. */
  ink?: 'light' | 'dark' | null;
  /** Title for screen readers, for `svg`. */
  title?: string | null;
  /**
   * A line of text below the symbol, for `svg`, `pdf` and `eps`, and in the service also for `png`. A long line
   * gets smaller letters. `pdf` and `eps` can show the characters of Windows-1252 (western Europe), a `png` also
   * Greek and Cyrillic.
   */
  caption?: string | null;
}

/** The fault of an option, and the values that would work. */
export interface QrFault {
  /** Name of the option. */
  parameter: string;
  /** Kind of fault for programs, such as `out-of-range`. */
  code: string;
  /** The fault in words, for people. */
  detail: string;
  minimum?: number;
  maximum?: number;
  allowed?: string[];
  suggestion?: string;
}
