import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.google.zxing.BarcodeFormat;
import com.google.zxing.EncodeHintType;
import com.google.zxing.client.j2se.MatrixToImageWriter;
import com.google.zxing.qrcode.QRCodeWriter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Map;
import javax.imageio.ImageIO;

/** Draws in Java, with ZXing. */
final class Own {
    public static void main(String[] args) throws IOException {
        // Otherwise the JDK makes a temporary file for each picture.
        ImageIO.setUseCache(false);
        Server.serve(args[0], Own::png);
    }

    static byte[] png(byte[] utf8) throws Exception {
        // A character for each byte: before UTF-8, ZXing would put a header that old readers show as text.
        var text = new String(utf8, ISO_8859_1);
        var hints = Map.of(EncodeHintType.MARGIN, 4);
        var modules = new QRCodeWriter().encode(text, BarcodeFormat.QR_CODE, 200, 200, hints);
        var png = new ByteArrayOutputStream();
        MatrixToImageWriter.writeToStream(modules, "PNG", png);
        return png.toByteArray();
    }
}
