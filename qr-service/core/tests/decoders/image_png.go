// Writes to stdout the pixels of PNG files as Go's image/png reads them: one byte of grey per pixel.
package main

import (
	"bufio"
	"image/color"
	"image/png"
	"log"
	"os"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, path := range os.Args[1:] {
		file, err := os.Open(path)
		if err != nil {
			log.Fatal(err)
		}
		picture, err := png.Decode(file)
		if err != nil {
			log.Fatalf("%s: %v", path, err)
		}
		file.Close()
		bounds := picture.Bounds()
		for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
			for x := bounds.Min.X; x < bounds.Max.X; x++ {
				out.WriteByte(color.GrayModel.Convert(picture.At(x, y)).(color.Gray).Y)
			}
		}
	}
}
