// Pictures for the live model: from the camera, the screen or a file, scaled down and made JPEG.

const LONGEST_EDGE = 960;
const QUALITY = 0.8;
export const PICTURE_MIME = "image/jpeg";

export function openCamera() {
  return navigator.mediaDevices.getUserMedia({ video: { width: { ideal: 1280 } } });
}

export function openScreen() {
  return navigator.mediaDevices.getDisplayMedia({ video: true });
}

export function pictureOfVideo(video) {
  return picture(video, video.videoWidth, video.videoHeight);
}

export async function pictureOfFile(file) {
  const bitmap = await createImageBitmap(file);
  const blob = await picture(bitmap, bitmap.width, bitmap.height);
  bitmap.close();
  return blob;
}

function picture(source, width, height) {
  const scale = Math.min(1, LONGEST_EDGE / Math.max(width, height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  canvas.getContext("2d").drawImage(source, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, PICTURE_MIME, QUALITY));
}
