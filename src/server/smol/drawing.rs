//! What pages draw on and with: a plan of the floor and the arrows, drawn here from the rooms' measures.

use crate::message::floor::{Bitmap, CoordinateSystem, Direction, Floor, Room};
use image::{DynamicImage, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage, imageops};
use std::io::Cursor;
use std::sync::OnceLock;

/// Of the plan, in pixels: the measures of the floor are those of a picture of this size.
const SIZE: (u32, u32) = (810, 566);
const PAPER: Rgb<u8> = Rgb([0xFF, 0xFF, 0xFF]);
const ROOM: Rgb<u8> = Rgb([0xF4, 0xF1, 0xEA]);
const WALL: Rgb<u8> = Rgb([0x5B, 0x60, 0x68]);
/// Half of the thickness of a wall, in pixels.
const HALF_WALL: f64 = 2.0;
const ARROW: Rgba<u8> = Rgba([0xD6, 0x2E, 0x2E, 0xFF]);
const CLEAR: Rgba<u8> = Rgba([0, 0, 0, 0]);

/// A room's corners on the picture: left, top, right, bottom.
type Corners = (f64, f64, f64, f64);

/// The plan as PNG; empty if it cannot be made.
pub(super) fn plan() -> &'static [u8] {
    static PLAN: OnceLock<Vec<u8>> = OnceLock::new();
    PLAN.get_or_init(|| written(DynamicImage::ImageRgb8(drawn_plan()), ImageFormat::Png))
}

/// The bitmap as BMP.
pub(super) fn bitmap(bitmap: Bitmap) -> Vec<u8> {
    let Bitmap::Arrow(direction) = bitmap;
    let up = RgbaImage::from_fn(Bitmap::SIDE, Bitmap::SIDE, arrow_up);
    let turned = match direction {
        Direction::Up => up,
        Direction::Down => imageops::rotate180(&up),
        Direction::Left => imageops::rotate270(&up),
        Direction::Right => imageops::rotate90(&up),
    };
    written(DynamicImage::ImageRgba8(turned), ImageFormat::Bmp)
}

fn written(image: DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    match image.write_to(&mut bytes, format) {
        Ok(()) => bytes.into_inner(),
        Err(_) => Vec::new(),
    }
}

fn drawn_plan() -> RgbImage {
    let rooms: Vec<Corners> = Room::ALL.into_iter().filter(is_walled).map(corners).collect();
    RgbImage::from_fn(SIZE.0, SIZE.1, |x, y| {
        let (x, y) = (f64::from(x), f64::from(y));
        if rooms.iter().any(|room| is_wall(room, x, y)) {
            WALL
        } else if rooms.iter().any(|room| is_inside(room, x, y, HALF_WALL)) {
            ROOM
        } else {
            PAPER
        }
    })
}

/// The levels are made of rooms and have no walls of their own.
fn is_walled(room: &Room) -> bool {
    match room {
        Room::Room1 | Room::Room2 | Room::Bathroom | Room::Kitchen | Room::Toilet => true,
        Room::Level1 | Room::Level2 => false,
    }
}

fn corners(room: Room) -> Corners {
    let system = Floor::First.coordinates();
    let CoordinateSystem { top_left, .. } = system;
    let ((across, down), area) = (system.scale(), room.area());
    let x = |at: f64| top_left.across + at * across;
    let y = |at: f64| top_left.down + at * down;
    (x(area.left), y(area.top), x(area.right), y(area.bottom))
}

fn is_inside((left, top, right, bottom): &Corners, x: f64, y: f64, more: f64) -> bool {
    (left - more..=right + more).contains(&x) && (top - more..=bottom + more).contains(&y)
}

fn is_wall(room: &Corners, x: f64, y: f64) -> bool {
    is_inside(room, x, y, HALF_WALL) && !is_inside(room, x, y, -HALF_WALL)
}

/// A head as wide as high, and a shaft below it.
fn arrow_up(x: u32, y: u32) -> Rgba<u8> {
    let (half, head_end, end) = (Bitmap::SIDE / 2, Bitmap::SIDE / 2, Bitmap::SIDE - 6);
    let from_middle = if x < half { half - 1 - x } else { x - half };
    let in_head = (6..head_end).contains(&y) && from_middle <= y - 6;
    let in_shaft = (head_end..end).contains(&y) && from_middle < 7;
    if in_head || in_shaft { ARROW } else { CLEAR }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_has_the_size_that_its_measures_are_for() {
        let plan = image::load_from_memory(plan()).unwrap().to_rgb8();
        assert_eq!(plan.dimensions(), SIZE);
        let (left, top, right, bottom) = corners(Room::Kitchen);
        assert!(left > 0.0 && top > 0.0 && right < 810.0 && bottom < 566.0);
        assert_eq!(*plan.get_pixel(450, 400), ROOM);
        assert_eq!(*plan.get_pixel(5, 5), PAPER);
        assert!(plan.pixels().any(|pixel| *pixel == WALL));
    }

    #[test]
    fn each_arrow_points_its_way() {
        for (direction, (x, y), away) in [
            (Direction::Up, (32, 8), (32, 62)),
            (Direction::Down, (32, 55), (32, 1)),
            (Direction::Left, (8, 32), (62, 32)),
            (Direction::Right, (55, 32), (1, 32)),
        ] {
            let bytes = bitmap(Bitmap::Arrow(direction));
            let arrow = image::load_from_memory_with_format(&bytes, ImageFormat::Bmp).unwrap();
            let arrow = arrow.to_rgba8();
            assert_eq!(arrow.dimensions(), (Bitmap::SIDE, Bitmap::SIDE));
            assert_eq!(*arrow.get_pixel(x, y), ARROW, "{direction:?}");
            assert_ne!(*arrow.get_pixel(away.0, away.1), ARROW, "{direction:?}");
        }
    }
}
