; shared 4224
; ModuleID = "kernel"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"part"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5")
{
entry:
  %".7" = inttoptr i64 %".2" to float addrspace(1)*
  %".8" = inttoptr i64 %".3" to float addrspace(1)*
  br label %"body"
body:
  %".9" = call i64 @"thread"()
  %".10" = call i64 @"threads"()
  %".11" = sub i64 32, 1
  %".12" = add i64 %".5", %".11"
  %".13" = udiv i64 %".12", 32
  %".14" = sub i64 32, 1
  %".15" = add i64 %".4", %".14"
  %".16" = udiv i64 %".15", 32
  %".17" = udiv i64 %".1", %".16"
  %".18" = urem i64 %".17", %".13"
  %".19" = mul i64 %".18", 32
  %".20" = urem i64 %".1", %".16"
  %".21" = mul i64 %".20", 32
  %".22" = mul i64 %".13", %".16"
  %".23" = udiv i64 %".1", %".22"
  %".24" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".25" = bitcast i8 addrspace(3)* %".24" to float addrspace(3)*
  br label %"head"
head:
  %".27" = phi  i64 [%".9", %"body"], [%".47", %"loop.endif"]
  %".28" = icmp slt i64 %".27", 1024
  br i1 %".28", label %"loop", label %"after"
loop:
  %".30" = urem i64 %".27", 32
  %".31" = udiv i64 %".27", 32
  %".32" = add i64 %".19", %".30"
  %".33" = add i64 %".21", %".31"
  %".34" = icmp slt i64 %".32", %".5"
  %".35" = icmp slt i64 %".33", %".4"
  %".36" = and i1 %".34", %".35"
  %".37" = mul i64 %".31", 33
  %".38" = add i64 %".37", %".30"
  br i1 %".36", label %"loop.if", label %"loop.endif"
after:
  call void @"barrier"()
  br label %"head.1"
loop.if:
  %".40" = mul nsw i64 %".33", %".5"
  %".41" = add nsw i64 %".32", %".40"
  %".42" = getelementptr float, float addrspace(1)* %".7", i64 %".41"
  %".43" = load float, float addrspace(1)* %".42", !alias.scope !3, !noalias !4
  %".44" = getelementptr float, float addrspace(3)* %".25", i64 %".38"
  store float %".43", float addrspace(3)* %".44"
  br label %"loop.endif"
loop.endif:
  %".47" = add nsw i64 %".27", %".10"
  br label %"head"
head.1:
  %".51" = phi  i64 [%".9", %"after"], [%".94", %"loop.1.endif"]
  %".52" = icmp slt i64 %".51", 1024
  br i1 %".52", label %"loop.1", label %"after.1"
loop.1:
  %".54" = urem i64 %".51", 32
  %".55" = udiv i64 %".51", 32
  %".56" = add i64 %".19", %".55"
  %".57" = add i64 %".21", %".54"
  %".58" = icmp slt i64 %".56", %".5"
  %".59" = icmp slt i64 %".57", %".4"
  %".60" = and i1 %".58", %".59"
  %".61" = mul i64 %".54", 33
  %".62" = add i64 %".61", %".55"
  br i1 %".60", label %"loop.1.if", label %"loop.1.endif"
after.1:
  call void @"barrier"()
  ret void
loop.1.if:
  %".64" = getelementptr float, float addrspace(3)* %".25", i64 %".62"
  %".65" = load float, float addrspace(3)* %".64"
  %".66" = call float @"llvm.fabs.f32"(float %".65")
  %".67" = fcmp ogt float %".66", 0x4024000000000000
  %".68" = select  i1 %".67", float 0x4024000000000000, float %".66"
  %".69" = fmul float %".68", 0xc000000000000000
  %".70" = call float @"llvm.fma.f32"(float %".69", float 0x3ff7154760000000, float 0x4168000fe0000000)
  %".71" = fsub float %".70", 0x4168000fe0000000
  %".72" = call float @"llvm.fma.f32"(float %".71", float 0xbfe62e4300000000, float %".69")
  %".73" = call float @"llvm.fma.f32"(float 0x3f56baf4c0000000, float %".72", float 0x3f81230c40000000)
  %".74" = call float @"llvm.fma.f32"(float %".73", float %".72", float 0x3fa5556ec0000000)
  %".75" = call float @"llvm.fma.f32"(float %".74", float %".72", float 0x3fc5554a60000000)
  %".76" = call float @"llvm.fma.f32"(float %".75", float %".72", float 0x3fdfffffe0000000)
  %".77" = fmul float %".72", %".72"
  %".78" = call float @"llvm.fma.f32"(float %".76", float %".77", float %".72")
  %".79" = bitcast float %".70" to i32
  %".80" = shl i32 %".79", 23
  %".81" = bitcast i32 %".80" to float
  %".82" = fneg float %".81"
  %".83" = fsub float 0x3ff0000000000000, %".81"
  %".84" = call float @"llvm.fma.f32"(float %".78", float %".82", float %".83")
  %".85" = fadd float 0x3ff0000000000000, %".81"
  %".86" = call float @"llvm.fma.f32"(float %".78", float %".81", float %".85")
  %".87" = fdiv float %".84", %".86"
  %".88" = call float @"llvm.copysign.f32"(float %".87", float %".65")
  %".89" = mul nsw i64 %".4", %".56"
  %".90" = add nsw i64 %".57", %".89"
  %".91" = getelementptr float, float addrspace(1)* %".8", i64 %".90"
  store float %".88", float addrspace(1)* %".91", !alias.scope !4, !noalias !3
  br label %"loop.1.endif"
loop.1.endif:
  %".94" = add nsw i64 %".51", %".10"
  br label %"head.1"
}

declare i64 @"thread"()

declare i64 @"threads"()

declare void @"barrier"()

declare void @"warp_barrier"()

declare i32 @"shuffle"(i32 %".1", i32 %".2")

declare i16 @"to_bf16"(float %".1")

@"shared" = external addrspace(3) global [0 x i8]
define i64 @"blocks"(i64 %".1", i64 %".2", i64 %".3", i64 %".4")
{
entry:
  %".6" = call i64 @"threads"()
  %".7" = sub i64 32, 1
  %".8" = add i64 %".4", %".7"
  %".9" = udiv i64 %".8", 32
  %".10" = mul i64 1, %".9"
  %".11" = sub i64 32, 1
  %".12" = add i64 %".3", %".11"
  %".13" = udiv i64 %".12", 32
  %".14" = mul i64 %".10", %".13"
  ret i64 %".14"
}

declare float @"llvm.fabs.f32"(float %".1")

declare float @"llvm.fma.f32"(float %".1", float %".2", float %".3")

declare float @"llvm.copysign.f32"(float %".1", float %".2")

!0 = !{ !"mindlite" }
!1 = !{ !"argument 0", !0 }
!2 = !{ !"argument 1", !0 }
!3 = !{ !1 }
!4 = !{ !2 }