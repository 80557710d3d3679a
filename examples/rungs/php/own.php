<?php
// Draws in PHP: BaconQrCode makes the symbol, GD the PNG.

declare(strict_types=1);

require '/usr/share/php/Bacon/BaconQrCode/autoload.php';

use BaconQrCode\Common\ErrorCorrectionLevel;
use BaconQrCode\Encoder\Encoder;

function draw(string $text): string
{
    // A character for each byte: before UTF-8, the library would put a header that old readers show as text.
    $bytes = iconv('ISO-8859-1', 'UTF-8', $text);
    $modules = Encoder::encode($bytes, ErrorCorrectionLevel::L(), 'ISO-8859-1')->getMatrix();
    $scale = intdiv(200, $modules->getWidth() + 8);
    $offset = intdiv(200 - $scale * $modules->getWidth(), 2);
    $picture = imagecreate(200, 200);
    imagecolorallocate($picture, 255, 255, 255);
    $black = imagecolorallocate($picture, 0, 0, 0);
    foreach ($modules->getArray() as $y => $row) {
        foreach ($row as $x => $module) {
            if ($module === 1) {
                [$left, $top] = [$offset + $x * $scale, $offset + $y * $scale];
                imagefilledrectangle($picture, $left, $top, $left + $scale - 1, $top + $scale - 1, $black);
            }
        }
    }
    ob_start();
    imagepng($picture);
    return ob_get_clean();
}
